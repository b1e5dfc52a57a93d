\\ The Type A pairing with the parameters of PBC's a.param, computed by PARI: `gp -q type_a.gp`.
\\ What it prints is type_a.txt, which the tests of src/crypto/pairing compare with.

q = 8780710799663312522437781984754049815806883199414208211028653399266475630880222957078625179422662221423155858769582317459277713367317481324925129998224791;
h = 12016012264891146079388821366740534204802954401251311822919615131047207289359704531102844802183906537786776;
r = 730750818665451621361119245571504901405976559617;
if (!isprime(q) || !isprime(r) || h*r != q + 1 || q % 4 != 3 || r != 2^159 + 2^107 + 1, error("parameters"));

hex(v) = {
  my(d = digits(v, 16), s = List());
  for (k = 1, 128 - #d, listput(s, 48));
  for (k = 1, #d, listput(s, if (d[k] < 10, 48 + d[k], 87 + d[k])));
  Strchr(Vec(s))
};
show(name, v) = print(name, " ", hex(lift(v)));

\\ The generator: the cofactor times the first point that it does not take to the identity; of the two
\\ points, the one with the even y.
E = ellinit([1, 0] * Mod(1, q));
{
  for (x = 1, oo,
    if (issquare(Mod(x^3 + x, q)),
      y = lift(sqrt(Mod(x^3 + x, q))); if (y % 2, y = q - y);
      G = ellmul(E, [Mod(x, q), Mod(y, q)], h);
      if (G != [0], break)))
};
if (ellmul(E, G, r) != [0], error("order"));
show("x", G[1]); show("y", G[2]);

\\ The reduced Tate pairing of multiples of it, with the distortion map (x, y) -> (-x, iy).
i = ffgen(Mod(1, q) * (X^2 + 1), 'i);
E2 = ellinit([i^0, 0*i]);
over(P) = [lift(P[1]) * i^0, lift(P[2]) * i^0];
pairing(P, Q) = {
  my(p = over(P), o = over(Q));
  elltatepairing(E2, p, [-o[1], i * o[2]], r)^((q^2 - 1) / r)
};
part(f, k) = polcoef(f.pol, k);
{
  forvec (ab = [[1, 2], [1, 2]],
    my(a = 10^40 + ab[1], b = 3^90 + ab[2], A = ellmul(E, G, a), B = ellmul(E, G, b), f = pairing(A, B));
    print("a ", a); print("b ", b);
    show("ax", A[1]); show("ay", A[2]); show("bx", B[1]); show("by", B[2]);
    show("real", part(f, 0)); show("imaginary", part(f, 1)))
};
