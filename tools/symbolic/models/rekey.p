% How a controller brings a key to members: under a member's own key, under a key that members share, and in
% the answer to a member that catches up (crates/groupkey/src/mechanisms/key_server).
%
% The epoch `present` is under attack. The adversary has a member in every other epoch, before and after: it
% was evicted, or joins later. In `inside` it has a member in the present epoch, too. Alice is an honest
% member throughout. All messages have a tag, a signature or a MAC; all members have the key of the MAC.

%% works: Alice takes the group's key, and the answer to her last request
%%   | reached | +signatures +shares | signatures
%% secret: members of other epochs do not learn the group key
%%   | proven | +signatures | signatures
%%   | proven | +macs | MAC
%%   | attack | +signatures +chains | weaker: the key comes under the key of the epoch before
%% deceived: Alice takes no other key for the present one
%%   | proven | +signatures | signatures; members of other epochs lie
%%   | proven | +macs | MAC; members of other epochs lie
%%   | proven | +signatures +inside +shares | signatures; a present member lies, to members that share a key with it
%%   | attack | +macs +inside +shares | MAC; a present member lies, to members that share a key with it
%% returned: Alice takes no key of an earlier epoch for the present one
%%   | proven | +signatures | signatures
%%   | proven | +macs | MAC
%%   | proven | +signatures -sends -takes +sends_loosely +takes_loosely | weaker: wraps do not name their epoch; signatures
%%   | attack | +macs -sends -takes +sends_loosely +takes_loosely | weaker: wraps do not name their epoch; MAC
%% stale: who catches up takes no answer from before its request
%%   | proven | +signatures | signatures
%%   | attack | +macs | MAC
%%   | attack | +signatures -answers -takes_answer +answers_anyone +takes_any_answer | weaker: answers do not repeat the request's nonce

% `number(E)` is what a message has of an epoch.
fof(public, axiom, ![D, E, R]: (knows(now, name(D)) & knows(now, number(E)) & knows(now, nonce(R)) & knows(now, nothing))).
fof(others, axiom, ![N, M]: (member(insider(M), before(N)) & member(insider(M), after(N)))).
fof(alice, axiom, ![E]: member(alice, E)).
fof(lie, axiom, wrong(lie) & knows(now, lie)).
fof(old_keys, axiom, ![N]: wrong(group_key(before(N)))).
fof(enrolled, axiom, ![N]: knows(now, individual(insider(N)))).
fof(keeps_keys, axiom, ![N]: (knows(now, group_key(before(N))) & knows(now, group_key(after(N))))).
fof(inside, hypothesis, ![M]: (member(insider(M), present) & knows(now, group_key(present)))).

% Who makes a tag, and which tag counts.
fof(signatures, hypothesis, ![P, M]: tag(P, M, signed(identity(controller), P, M))).
fof(macs, hypothesis, ![P, M]: (tag(P, M, mac(mac_key, P, M)) & knows(now, mac_key))).

% To one member, under its individual key.
fof(sends, axiom, ![D, E, M, T]: (
    (member(D, E)
    & M = pair(pair(number(E), name(D)), sealed(individual(D), number(E), group_key(E)))
    & tag(rekey, M, T))
  => knows(now, pair(M, T)))).
fof(takes, axiom, ![E, K, M, T]: (
    (M = pair(pair(number(E), name(alice)), sealed(individual(alice), number(E), K))
    & tag(rekey, M, T) & knows(now, pair(M, T)))
  => holds(E, K))).

% To several members, under a key that they share since the epoch before.
fof(shares, hypothesis, ![E, M, T, N]: (
    (M = pair(pair(number(E), everybody), sealed(shared_key(E), number(E), group_key(E)))
    & tag(rekey, M, T))
  => (knows(now, pair(M, T)) & knows(now, shared_key(E))))).
fof(takes_shared, axiom, ![E, K, M, T]: (
    (M = pair(pair(number(E), everybody), sealed(shared_key(E), number(E), K))
    & tag(rekey, M, T) & knows(now, pair(M, T)))
  => holds(E, K))).

% In run R Alice asks what she missed. `asked_in(R, E)`: she asks, and is answered, in epoch E.
fof(asks_early, axiom, ![N]: asked_in(early(N), before(N))).
fof(asks_now, axiom, asked_in(last, present)).
fof(answers, axiom, ![R, E, M, T]: (
    (asked_in(R, E)
    & M = pair(pair(number(E), pair(name(alice), nonce(R))), sealed(individual(alice), number(E), group_key(E)))
    & tag(catch_up, M, T))
  => knows(now, pair(M, T)))).
fof(takes_answer, axiom, ![R, E, K, M, T]: (
    (M = pair(pair(number(E), pair(name(alice), nonce(R))), sealed(individual(alice), number(E), K))
    & tag(catch_up, M, T) & knows(now, pair(M, T)))
  => (answered(R, E, K)))).

% ---- what is asked: can this be? ----

fof(works, conjecture, (holds(present, group_key(present)) & answered(last, present, group_key(present)))).
fof(secret, conjecture, knows(now, group_key(present))).
fof(deceived, conjecture, ?[K]: (holds(present, K) & wrong(K) & knows(now, K))).
fof(returned, conjecture, ?[N]: holds(present, group_key(before(N)))).
fof(stale, conjecture, ?[N, K]: answered(last, before(N), K)).

% ---- weaker ones, to see that the attack is found ----

% As GKMP removes a member in its published form.
fof(chains, hypothesis, ![N, M, T]: (
    (M = pair(pair(number(present), everybody), sealed(group_key(before(N)), number(present), group_key(present)))
    & tag(rekey, M, T))
  => knows(now, pair(M, T)))).
fof(sends_loosely, hypothesis, ![D, E, M, T]: (
    (member(D, E)
    & M = pair(pair(number(E), name(D)), sealed(individual(D), nothing, group_key(E)))
    & tag(rekey, M, T))
  => knows(now, pair(M, T)))).
fof(takes_loosely, hypothesis, ![E, K, M, T]: (
    (M = pair(pair(number(E), name(alice)), sealed(individual(alice), nothing, K))
    & tag(rekey, M, T) & knows(now, pair(M, T)))
  => holds(E, K))).
fof(answers_anyone, hypothesis, ![R, E, M, T]: (
    (asked_in(R, E)
    & M = pair(pair(number(E), name(alice)), sealed(individual(alice), number(E), group_key(E)))
    & tag(catch_up, M, T))
  => knows(now, pair(M, T)))).
fof(takes_any_answer, hypothesis, ![R, E, K, M, T]: (
    (M = pair(pair(number(E), name(alice)), sealed(individual(alice), number(E), K))
    & tag(catch_up, M, T) & knows(now, pair(M, T)))
  => (answered(R, E, K)))).
