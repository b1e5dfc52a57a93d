% Messages to the group under its key (crates/groupkey/src/messages.rs, docs/messages.md).
%
% Alice and Bob are honest. A group has lives G, each with epochs E; a sender has sessions with counters, here
% one number C. The adversary is a member in every life and epoch but the present ones, or in all: `inside`.
% A header names the group, but not its life: `inside` has the same number for all lives.

%% works: Bob hears what Alice says
%%   | reached | +signed | signed
%% secret: members of other epochs read no message of this one
%%   | proven | +plain +outside | not signed
%%   | proven | +signed +outside | signed
%%   | attack | +signed +outside -keys +keys_of_the_life | weaker: one key of the group's whole life makes the message keys
%% lie: Bob hears nothing in Alice's name that she did not say
%%   | proven | +plain +outside | not signed; members of other epochs lie
%%   | proven | +signed +inside | signed; a present member lies
%%   | attack | +plain +inside | not signed; a present member lies
%% moved: nor what she said in another life, epoch or session, or at another place in it
%%   | proven | +plain +outside | not signed; members of other epochs lie
%%   | proven | +signed +inside | signed; a present member lies
%%   | attack | +signed_without_header +inside | weaker: the signature does not cover the header
%%   | attack | +signed_without_key +inside | weaker: the signature does not cover a value of the message's key

fof(public, axiom, ![D, E, C]: (knows(now, name(D)) & knows(now, number(E)) & knows(now, counter(C)) & knows(now, nothing))).
fof(lies, axiom, knows(now, lie)).

% Lives this and that, epochs present and other(N), numbers this_one and another(N).
fof(outside, hypothesis, ![E, N]: (knows(now, group_key(that, E)) & knows(now, group_key(this, other(N))))).
fof(inside, hypothesis, ![G, E]: knows(now, group_key(G, E))).

% Header, message key: of the group key, for the group's context and what the header names.
fof(keys, axiom, ![G, E, D, C, H]: (H = pair(number(E), pair(name(D), counter(C)))
  => key_of(G, E, D, C, H, derived(group_key(G, E), message, pair(context(G), H))))).
fof(contexts, axiom, ![G]: knows(now, context(G))).

% What a sender puts in, and what a receiver takes for said.
fof(plain, hypothesis, ![D, H, K, X]: said(D, H, K, X, X)).
fof(signed, hypothesis, ![D, H, K, X]: said(D, H, K, X,
    pair(X, signed(identity(D), content, pair(H, pair(derived(K, binding, nothing), X)))))).

% Alice says something new each time: text(G, E, C).
fof(alice_says, axiom, ![G, E, C, H, K, M]: (
    (key_of(G, E, alice, C, H, K) & said(alice, H, K, text(G, E, C), M))
  => knows(now, pair(H, sealed(K, pair(context(G), H), M))))).
fof(bob_takes, axiom, ![G, E, C, H, K, M, X]: (
    (key_of(G, E, alice, C, H, K) & said(alice, H, K, X, M)
    & knows(now, pair(H, sealed(K, pair(context(G), H), M))))
  => hears(G, E, C, X))).

% ---- what is asked: can this be? ----

fof(works, conjecture, hears(this, present, this_one, text(this, present, this_one))).
fof(secret, conjecture, ?[C]: knows(now, text(this, present, C))).
fof(lie, conjecture, ?[C]: hears(this, present, C, lie)).
fof(moved, conjecture, ?[E, N]: (
    hears(this, present, this_one, text(that, E, this_one))
    | hears(this, present, this_one, text(this, other(N), this_one))
    | hears(this, present, this_one, text(this, present, another(N))))).

% ---- weaker ones, to see that the attack is found ----

fof(keys_of_the_life, hypothesis, ![G, E, D, C, H]: (H = pair(number(E), pair(name(D), counter(C)))
  => (key_of(G, E, D, C, H, derived(life_key(G), message, pair(context(G), H))) & knows(now, life_key(G))))).
fof(signed_without_header, hypothesis, ![D, H, K, X]: said(D, H, K, X,
    pair(X, signed(identity(D), content, X)))).
fof(signed_without_key, hypothesis, ![D, H, K, X]: said(D, H, K, X,
    pair(X, signed(identity(D), content, pair(H, X))))).
