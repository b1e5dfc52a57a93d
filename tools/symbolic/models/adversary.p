% The adversary of Dolev and Yao. `knows(T, X)`: at time T, now or later, it knows X. What it knows it can
% send, so a party that needs a message needs the adversary to know it. It knows no more than these rules
% give: cryptography is perfect.

fof(keeps, axiom, ![X]: (knows(now, X) => knows(later, X))).

% Everything that is put together is taken apart, and the other way round.
fof(pairs, axiom, ![T, X, Y]: ((knows(T, X) & knows(T, Y)) => knows(T, pair(X, Y)))).
fof(first, axiom, ![T, X, Y]: (knows(T, pair(X, Y)) => knows(T, X))).
fof(second, axiom, ![T, X, Y]: (knows(T, pair(X, Y)) => knows(T, Y))).

% Hashes, MACs and derivations go forward only. Each purpose P has a label of its own.
fof(hashes, axiom, ![T, X]: (knows(T, X) => knows(T, hash(X)))).
fof(authenticates, axiom, ![T, K, P, X]: ((knows(T, K) & knows(T, X)) => knows(T, mac(K, P, X)))).
fof(derives, axiom, ![T, K, P, X]: ((knows(T, K) & knows(T, X)) => knows(T, derived(K, P, X)))).

% A signature hides nothing.
fof(publishes, axiom, ![T, K]: (knows(T, K) => knows(T, public(K)))).
fof(signs, axiom, ![T, K, P, X]: ((knows(T, K) & knows(T, X)) => knows(T, signed(K, P, X)))).
fof(reads_signed, axiom, ![T, K, P, X]: (knows(T, signed(K, P, X)) => knows(T, X))).

% Encryption that notices changes, of X and of what goes with it, A. A key wrap is of this kind, too.
fof(seals, axiom, ![T, K, A, X]: ((knows(T, K) & knows(T, A) & knows(T, X)) => knows(T, sealed(K, A, X)))).
fof(opens, axiom, ![T, K, A, X]: ((knows(T, sealed(K, A, X)) & knows(T, K)) => knows(T, X))).

% Diffie and Hellman: of two points either exponent gives the same secret.
fof(raises, axiom, ![T, X]: (knows(T, X) => knows(T, point(X)))).
fof(agrees, axiom, ![T, X, P]: ((knows(T, X) & knows(T, P)) => knows(T, agreed(point(X), P)))).
fof(either, axiom, ![P, Q]: agreed(P, Q) = agreed(Q, P)).
