% How a device joins (crates/groupkey-mqtt/src/join.rs): request, offer, request for the offered place, welcome.
%
% The service and three devices are honest, in any number of runs at once. All other devices belong to the
% adversary. A device has a secret that it shares with the service, or the service knows its identity.
% That it has no secret is written as a secret that everybody knows, `nothing`.

%% works: all three devices join
%%   | reached | | as it is
%% secret: nobody else learns the individual key of a device's membership
%%   | proven | | as it is
%%   | attack | -verifies +verifies_unsigned | weaker: the service does not check a request's signature
%% later: who learns all secrets and identities later does not learn it either
%%   | proven | | as it is
%%   | attack | -welcomes -takes_welcome +welcomes_by_secret +takes_by_secret | weaker: the shared secret alone makes the welcome's key
%% usurped: the service takes no insider for a device that has a secret
%%   | proven | | as it is
%%   | attack | -asks -verifies +asks_loosely +verifies_loosely | weaker: the proof of the secret does not cover the request
%% deceived: no device takes a key that the adversary has
%%   | proven | | as it is
%%   | attack | -takes_welcome +takes_unsigned_welcome | weaker: devices do not check a welcome's signature
%%   | attack | -welcomes -takes_welcome +welcomes_by_points +takes_by_points | weaker: the shared secret is not in the welcome's key
%% misled: no device takes a welcome to another device, or to another request
%%   | proven | | as it is
%%   | attack | -welcomes -takes_welcome +welcomes_anyone +takes_anyones_welcome | weaker: welcomes do not name their request
%% impostor: no device takes the adversary for the service
%%   | proven | | as it is
%%   | attack | +thief | a thief has the secret, and the device does not know the service's key
%% told_apart: no device that knows the service's key is deceived
%%   | proven | +thief | a thief has the secret
%%   | attack | +thief -takes_welcome +takes_unsigned_welcome | weaker: nor do devices check a welcome's signature
%% named: a welcome that names the service is the service's
%%   | proven | +thief | a thief has the secret
%%   | attack | +thief -takes_welcome +takes_unsigned_welcome | weaker: nor do devices check a welcome's signature
%% epoch: an offer's epoch is what the service answered to this request
%%   | proven | | as it is
%%   | attack | -takes_signed_offer +takes_unsigned_offer | weaker: devices do not check an offer's signature
%%   | attack | -offers -takes_signed_offer +offers_anyone +takes_anyones_offer | weaker: offers do not name their request

fof(names, axiom, ![D]: (knows(now, name(D)) & knows(now, public(identity(D))))).
fof(constants, axiom, knows(now, nothing) & knows(now, false_epoch)).
fof(insiders, axiom, ![N]: (knows(now, identity(insider(N))) & knows(now, token(insider(N))))).
fof(revealed, axiom, ![D]: (knows(later, identity(D)) & knows(later, token(D)))).

fof(alice, axiom, honest(alice) & shares(alice, token(alice)) & trusts_its_secret(alice)).
fof(bob, axiom, honest(bob) & shares(bob, token(bob)) & knows_the_service(bob)).
fof(carol, axiom, honest(carol) & shares(carol, nothing) & knows_the_service(carol)).

% A device asks in run I, for any place L that the adversary proposes, with a new exponent.
fof(asks, axiom, ![D, I, L, S, B, P, R]: (
    (honest(D) & shares(D, S) & knows(now, L)
    & B = pair(name(D), pair(public(identity(D)), pair(point(once(D, I, L)), L)))
    & P = mac(S, proof, B)
    & R = pair(B, pair(P, signed(identity(D), request, pair(B, P)))))
  => (knows(now, R) & asked(D, I, L, S, hash(R))))).

% The service takes whoever proves a secret, with any identity, and whoever has an identity that it knows.
fof(by_secret, axiom, ![D, K]: permitted(D, K, token(D))).
fof(by_identity, axiom, ![D]: permitted(D, identity(D), nothing)).
fof(verifies, axiom, ![D, K, S, E, L, B, P, R]: (
    (knows(now, R) & permitted(D, K, S)
    & B = pair(name(D), pair(public(K), pair(E, L)))
    & P = mac(S, proof, B)
    & R = pair(B, pair(P, signed(K, request, pair(B, P)))))
  => verified(D, K, E, L, S, hash(R)))).

% An offer has the epoch in which the service answers this request.
fof(offers, axiom, ![D, K, E, L, S, H, O]: (
    (verified(D, K, E, L, S, H)
    & O = pair(H, pair(place(D), epoch(H))))
  => knows(now, pair(O, pair(mac(S, offer_proof, O), signed(identity(service), offer, O)))))).
fof(takes_offer, axiom, ![D, I, L, S, H, M, E, O, Z]: (
    (asked(D, I, L, S, H) & trusts_its_secret(D)
    & O = pair(H, pair(M, E))
    & knows(now, pair(O, pair(mac(S, offer_proof, O), Z))))
  => offered(D, H, E))).
fof(takes_signed_offer, axiom, ![D, I, L, S, H, M, E, O, Z]: (
    (asked(D, I, L, S, H) & knows_the_service(D)
    & O = pair(H, pair(M, E))
    & knows(now, pair(O, pair(Z, signed(identity(service), offer, O)))))
  => offered(D, H, E))).

% The individual key is new in each membership, and so is the service's exponent, which follows from the request.
fof(welcomes, axiom, ![D, K, E, S, H, Y, C, W]: (
    (verified(D, K, E, place(D), S, H)
    & Y = once(service, H, place(D))
    & C = sealed(derived(pair(agreed(E, point(Y)), S), welcome, H), point(Y),
        pair(public(identity(service)), individual(D, H)))
    & W = pair(H, pair(point(Y), C)))
  => knows(now, pair(W, signed(identity(service), welcome, W))))).
fof(takes_welcome, axiom, ![D, I, L, S, H, P, C, K, X, W]: (
    (asked(D, I, L, S, H) & believes(D, K)
    & C = sealed(derived(pair(agreed(point(once(D, I, L)), P), S), welcome, H), P, pair(public(K), X))
    & W = pair(H, pair(P, C))
    & knows(now, pair(W, signed(K, welcome, W))))
  => accepts(D, H, K, X))).
fof(believes_the_named, axiom, ![D, K]: (trusts_its_secret(D) => believes(D, K))).
fof(believes_the_known, axiom, ![D]: (knows_the_service(D) => believes(D, identity(service)))).

% ---- what is asked: can this be? ----

fof(works, conjecture, ?[A, B, C, O]: (
    accepts(alice, A, identity(service), individual(alice, A)) & offered(alice, O, epoch(O))
    & accepts(bob, B, identity(service), individual(bob, B))
    & accepts(carol, C, identity(service), individual(carol, C)))).
fof(secret, conjecture, ?[D, H]: (honest(D) & knows(now, individual(D, H)))).
fof(usurped, conjecture, ?[D, K, E, L, H]: (honest(D) & verified(D, K, E, L, token(D), H) & knows(now, K))).
fof(later, conjecture, ?[D, H]: (honest(D) & knows(later, individual(D, H)))).
fof(deceived, conjecture, ?[D, H, K, X]: (accepts(D, H, K, X) & knows(now, X))).
fof(misled, conjecture, ?[D, L, M, S, H, G, K, N]: (
    asked(D, first, L, S, H)
    & (accepts(D, H, K, individual(insider(N), G))
    | (asked(D, second, M, S, G) & accepts(D, H, K, individual(D, G)))))).
fof(impostor, conjecture, ?[D, H, K, X]: (accepts(D, H, K, X) & knows(now, K))).
fof(told_apart, conjecture, ?[D, H, K, X]: (knows_the_service(D)
    & accepts(D, H, K, X) & (knows(now, K) | knows(now, X)))).
fof(named, conjecture, ?[D, H, X]: (accepts(D, H, identity(service), X) & knows(now, X))).
fof(epoch, conjecture, ?[D, L, M, S, H, G]: (
    offered(D, H, false_epoch)
    | (asked(D, first, L, S, H) & asked(D, second, M, S, G) & offered(D, H, epoch(G))))).

% ---- weaker ones, to see that the attack is found ----

fof(thief, hypothesis, knows(now, token(alice)) & knows(now, token(bob))).
fof(verifies_unsigned, hypothesis, ![D, K, S, E, L, B, P, R, Z]: (
    (knows(now, R) & permitted(D, K, S)
    & B = pair(name(D), pair(public(K), pair(E, L)))
    & P = mac(S, proof, B)
    & R = pair(B, pair(P, Z)))
  => verified(D, K, E, L, S, hash(R)))).
fof(asks_loosely, hypothesis, ![D, I, L, S, B, P, R]: (
    (honest(D) & shares(D, S) & knows(now, L)
    & B = pair(name(D), pair(public(identity(D)), pair(point(once(D, I, L)), L)))
    & P = mac(S, proof, nothing)
    & R = pair(B, pair(P, signed(identity(D), request, pair(B, P)))))
  => (knows(now, R) & asked(D, I, L, S, hash(R))))).
fof(verifies_loosely, hypothesis, ![D, K, S, E, L, B, P, R]: (
    (knows(now, R) & permitted(D, K, S)
    & B = pair(name(D), pair(public(K), pair(E, L)))
    & P = mac(S, proof, nothing)
    & R = pair(B, pair(P, signed(K, request, pair(B, P)))))
  => verified(D, K, E, L, S, hash(R)))).
fof(takes_unsigned_offer, hypothesis, ![D, I, L, S, H, M, E, O, Z]: (
    (asked(D, I, L, S, H) & knows_the_service(D)
    & O = pair(H, pair(M, E))
    & knows(now, pair(O, Z)))
  => offered(D, H, E))).
fof(offers_anyone, hypothesis, ![D, K, E, L, S, H, O]: (
    (verified(D, K, E, L, S, H)
    & O = pair(place(D), epoch(H)))
  => knows(now, pair(O, pair(mac(S, offer_proof, O), signed(identity(service), offer, O)))))).
fof(takes_anyones_offer, hypothesis, ![D, I, L, S, H, M, E, O, Z]: (
    (asked(D, I, L, S, H) & knows_the_service(D)
    & O = pair(M, E)
    & knows(now, pair(O, pair(Z, signed(identity(service), offer, O)))))
  => offered(D, H, E))).
fof(takes_unsigned_welcome, hypothesis, ![D, I, L, S, H, P, C, K, X, W, Z]: (
    (asked(D, I, L, S, H) & believes(D, K)
    & C = sealed(derived(pair(agreed(point(once(D, I, L)), P), S), welcome, H), P, pair(public(K), X))
    & W = pair(H, pair(P, C))
    & knows(now, pair(W, Z)))
  => accepts(D, H, K, X))).
fof(welcomes_by_secret, hypothesis, ![D, K, E, S, H, C, W]: (
    (verified(D, K, E, place(D), S, H)
    & C = sealed(derived(S, welcome, H), nothing, pair(public(identity(service)), individual(D, H)))
    & W = pair(H, pair(nothing, C)))
  => knows(now, pair(W, signed(identity(service), welcome, W))))).
fof(takes_by_secret, hypothesis, ![D, I, L, S, H, C, K, X, W]: (
    (asked(D, I, L, S, H) & believes(D, K)
    & C = sealed(derived(S, welcome, H), nothing, pair(public(K), X))
    & W = pair(H, pair(nothing, C))
    & knows(now, pair(W, signed(K, welcome, W))))
  => accepts(D, H, K, X))).
fof(welcomes_by_points, hypothesis, ![D, K, E, S, H, Y, C, W]: (
    (verified(D, K, E, place(D), S, H)
    & Y = once(service, H, place(D))
    & C = sealed(derived(agreed(E, point(Y)), welcome, H), point(Y),
        pair(public(identity(service)), individual(D, H)))
    & W = pair(H, pair(point(Y), C)))
  => knows(now, pair(W, signed(identity(service), welcome, W))))).
fof(takes_by_points, hypothesis, ![D, I, L, S, H, P, C, K, X, W]: (
    (asked(D, I, L, S, H) & believes(D, K)
    & C = sealed(derived(agreed(point(once(D, I, L)), P), welcome, H), P, pair(public(K), X))
    & W = pair(H, pair(P, C))
    & knows(now, pair(W, signed(K, welcome, W))))
  => accepts(D, H, K, X))).
fof(welcomes_anyone, hypothesis, ![D, K, E, S, H, Y, C, W]: (
    (verified(D, K, E, place(D), S, H)
    & Y = once(service, H, place(D))
    & C = sealed(derived(pair(agreed(E, point(Y)), S), welcome, nothing), point(Y),
        pair(public(identity(service)), individual(D, H)))
    & W = pair(point(Y), C))
  => knows(now, pair(W, signed(identity(service), welcome, W))))).
fof(takes_anyones_welcome, hypothesis, ![D, I, L, S, H, P, C, K, X, W]: (
    (asked(D, I, L, S, H) & believes(D, K)
    & C = sealed(derived(pair(agreed(point(once(D, I, L)), P), S), welcome, nothing), P, pair(public(K), X))
    & W = pair(P, C)
    & knows(now, pair(W, signed(K, welcome, W))))
  => accepts(D, H, K, X))).
