/*
 * Single MQTT messages over the real lwIP, to compare the simulator's model with.
 *
 *   cc -O2 -I/usr/include/lwip -o lwip_probe lwip_probe.c -ldl
 *   ./lwip_probe QOS LOSS DELAY_MS MESSAGES SEED [TUN]
 *
 * A publisher, a subscriber and a broker are three devices. Each device is a copy of Debian's
 * liblwip with memory and timer of its own (dlmopen). The program carries the packets between them,
 * holds each for DELAY_MS and loses it with the probability LOSS (0 to 1). It prints the time from
 * publishing to delivery of each message, in microseconds. QoS 2 counts from PUBLISH to PUBREL.
 *
 * Without TUN time is virtual: nothing waits, and the same seed gives the same output. With TUN, the
 * name of a TUN device that exists, time is real and the broker is a real one, in the kernel's TCP:
 * it listens at 10.77.0.1:1883, and the devices are 10.77.1.2 and 10.77.2.2.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#undef IFNAMSIZ
#include "lwip/ip.h"
#include "lwip/netif.h"
#include "lwip/opt.h"
#include "lwip/pbuf.h"
#include "lwip/tcp.h"

enum { PUBLISHER, SUBSCRIBER, BROKER, DEVICES };
enum { CONNECT = 1, CONNACK, PUBLISH, PUBACK, PUBREC, PUBREL, PUBCOMP, SUBSCRIBE, SUBACK };

#define TICK_US 250000 /* TCP_TMR_INTERVAL */
#define PAYLOAD 100
#define TOPIC "lwip/probe" /* ten bytes, as in the simulator's probe */
#define MESSAGES_A_CONNECTION 100

/* One end of a connection, and what it received and has not handled yet. */
struct end {
  struct device *device;
  struct tcp_pcb *pcb;
  uint8_t in[4096];
  size_t filled;
  int ready;
};

/* A copy of lwIP. */
struct device {
  struct tcp_pcb *(*tcp_new)(void);
  void (*tcp_tmr)(void);
  err_t (*tcp_connect)(struct tcp_pcb *, const ip_addr_t *, u16_t, tcp_connected_fn);
  err_t (*tcp_bind)(struct tcp_pcb *, const ip_addr_t *, u16_t);
  struct tcp_pcb *(*listen)(struct tcp_pcb *, u8_t);
  void (*tcp_accept)(struct tcp_pcb *, tcp_accept_fn);
  void (*tcp_arg)(struct tcp_pcb *, void *);
  void (*tcp_recv)(struct tcp_pcb *, tcp_recv_fn);
  void (*tcp_err)(struct tcp_pcb *, tcp_err_fn);
  void (*tcp_recved)(struct tcp_pcb *, u16_t);
  err_t (*tcp_write)(struct tcp_pcb *, const void *, u16_t, u8_t);
  err_t (*tcp_output)(struct tcp_pcb *);
  void (*tcp_abort)(struct tcp_pcb *);
  struct pbuf *(*pbuf_alloc)(pbuf_layer, u16_t, pbuf_type);
  err_t (*pbuf_take)(struct pbuf *, const void *, u16_t);
  u8_t (*pbuf_free)(struct pbuf *);
  u16_t (*pbuf_copy_partial)(const struct pbuf *, void *, u16_t, u16_t);
  struct netif netif[2];
  int64_t next_tick;
};

/* A packet on the way; `to` is a device, or -1 for the kernel. */
struct packet {
  int64_t due;
  uint64_t number;
  int to, interface;
  uint16_t length;
  uint8_t bytes[1600];
};

static struct device devices[DEVICES];
static struct end ends[2], at_broker[2]; /* of the publisher and the subscriber */
static struct packet *way[65536];
static size_t on_the_way;
static uint64_t packets;
static int64_t now_us;
static double loss;
static int64_t delay_us;
static int qos, lossy, tun = -1, broken;
static uint64_t random_state;
static int delivered;
static uint16_t identifier;

static void fail(const char *what) {
  fprintf(stderr, "lwip_probe: %s\n", what);
  exit(1);
}

static uint64_t mixed(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/* SplitMix64. */
static double uniform(void) {
  return (double)(mixed(random_state += 0x9e3779b97f4a7c15u) >> 11) / 9007199254740992.0;
}

static int64_t clock_us(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000LL + time.tv_nsec / 1000;
}

/* The packets on the way are a heap, the next to arrive first. */
static int before(size_t a, size_t b) {
  if (way[a]->due != way[b]->due) return way[a]->due < way[b]->due;
  return way[a]->number < way[b]->number;
}

static void swap(size_t a, size_t b) {
  struct packet *packet = way[a];
  way[a] = way[b];
  way[b] = packet;
}

static void carry(int to, int interface, const void *bytes, uint16_t length) {
  int lost = uniform() < loss;
  if (lossy && lost) return;
  if (on_the_way == sizeof way / sizeof *way) fail("too many packets on the way");
  struct packet *packet = malloc(sizeof *packet);
  if (packet == NULL || length > sizeof packet->bytes) fail("no room for a packet");
  packet->due = now_us + delay_us;
  packet->number = packets++;
  packet->to = to;
  packet->interface = interface;
  packet->length = length;
  memcpy(packet->bytes, bytes, length);
  size_t place = on_the_way++;
  way[place] = packet;
  for (; place > 0 && before(place, (place - 1) / 2); place = (place - 1) / 2) swap(place, (place - 1) / 2);
}

static struct packet *next_packet(void) {
  struct packet *first = way[0];
  way[0] = way[--on_the_way];
  for (size_t place = 0;;) {
    size_t child = 2 * place + 1;
    if (child >= on_the_way) break;
    if (child + 1 < on_the_way && before(child + 1, child)) child++;
    if (!before(child, place)) break;
    swap(child, place);
    place = child;
  }
  return first;
}

/* lwIP's way out: to the other device of the link, or to the kernel. */
static err_t leave(struct netif *netif, struct pbuf *p, const ip4_addr_t *address) {
  (void)address;
  int place = (int)(intptr_t)netif->state;
  struct device *device = &devices[place / 2];
  uint8_t bytes[1600];
  uint16_t length = device->pbuf_copy_partial(p, bytes, sizeof bytes, 0);
  if (tun >= 0) carry(-1, 0, bytes, length);
  else if (place / 2 == BROKER) carry(place % 2, 0, bytes, length);
  else carry(BROKER, place / 2, bytes, length);
  return ERR_OK;
}

static err_t begin(struct netif *netif) {
  netif->output = leave;
  netif->mtu = 1500;
  netif->name[0] = 'l';
  netif->name[1] = 'w';
  return ERR_OK;
}

static void *symbol(void *library, const char *name) {
  void *found = dlsym(library, name);
  if (found == NULL) fail(name);
  return found;
}

static void make_device(int place) {
  struct device *device = &devices[place];
  void *library = dlmopen(LM_ID_NEWLM, "liblwip.so.0", RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) fail(dlerror());
  ((void (*)(void))symbol(library, "lwip_init"))();
  device->tcp_new = symbol(library, "tcp_new");
  device->tcp_tmr = symbol(library, "tcp_tmr");
  device->tcp_connect = symbol(library, "tcp_connect");
  device->tcp_bind = symbol(library, "tcp_bind");
  device->listen = symbol(library, "tcp_listen_with_backlog");
  device->tcp_accept = symbol(library, "tcp_accept");
  device->tcp_arg = symbol(library, "tcp_arg");
  device->tcp_recv = symbol(library, "tcp_recv");
  device->tcp_err = symbol(library, "tcp_err");
  device->tcp_recved = symbol(library, "tcp_recved");
  device->tcp_write = symbol(library, "tcp_write");
  device->tcp_output = symbol(library, "tcp_output");
  device->tcp_abort = symbol(library, "tcp_abort");
  device->pbuf_alloc = symbol(library, "pbuf_alloc");
  device->pbuf_take = symbol(library, "pbuf_take");
  device->pbuf_free = symbol(library, "pbuf_free");
  device->pbuf_copy_partial = symbol(library, "pbuf_copy_partial");
  struct netif *(*add)(struct netif *, const ip4_addr_t *, const ip4_addr_t *, const ip4_addr_t *, void *,
                       netif_init_fn, netif_input_fn) = symbol(library, "netif_add");
  void (*up)(struct netif *) = symbol(library, "netif_set_up");
  void (*link_up)(struct netif *) = symbol(library, "netif_set_link_up");
  void (*set_default)(struct netif *) = symbol(library, "netif_set_default");
  netif_input_fn input = (netif_input_fn)symbol(library, "ip_input");
  for (int link = 0; link < (place == BROKER ? 2 : 1); link++) {
    ip4_addr_t own, mask, gateway;
    int network = place == BROKER ? link + 1 : place + 1;
    IP4_ADDR(&own, 10, 77, network, place == BROKER ? 1 : 2);
    IP4_ADDR(&mask, 255, 255, 255, 0);
    IP4_ADDR(&gateway, 10, 77, network, 1);
    add(&device->netif[link], &own, &mask, &gateway, (void *)(intptr_t)(place * 2 + link), begin, input);
    up(&device->netif[link]);
    link_up(&device->netif[link]);
    if (link == 0) set_default(&device->netif[link]);
  }
}

static void dead(void *end, err_t err) {
  (void)err;
  ((struct end *)end)->pcb = NULL;
  broken = 1;
}

/* Takes bytes in. They are handled when lwIP is done, as by a program with a socket. */
static err_t take(void *arg, struct tcp_pcb *pcb, struct pbuf *p, err_t err) {
  struct end *end = arg;
  (void)err;
  if (p == NULL) {
    broken = 1;
    return ERR_OK;
  }
  if (end->filled + p->tot_len > sizeof end->in) fail("more bytes than a message has");
  end->device->pbuf_copy_partial(p, end->in + end->filled, p->tot_len, 0);
  end->filled += p->tot_len;
  end->device->tcp_recved(pcb, p->tot_len);
  end->device->pbuf_free(p);
  return ERR_OK;
}

static void attach(struct end *end, struct device *device, struct tcp_pcb *pcb) {
  end->device = device;
  end->pcb = pcb;
  end->filled = 0;
  end->ready = 0;
  device->tcp_arg(pcb, end);
  device->tcp_recv(pcb, take);
  device->tcp_err(pcb, dead);
}

static void write_bytes(struct end *end, const uint8_t *bytes, size_t length) {
  if (end->pcb == NULL) return;
  if (end->device->tcp_write(end->pcb, bytes, (u16_t)length, TCP_WRITE_FLAG_COPY) != ERR_OK) fail("tcp_write");
  end->device->tcp_output(end->pcb);
}

static void write_answer(struct end *end, int type, const uint8_t *number) {
  uint8_t bytes[4] = {(uint8_t)(type << 4 | (type == PUBREL ? 2 : 0)), 2, number[0], number[1]};
  write_bytes(end, bytes, sizeof bytes);
}

static void write_publish(struct end *end) {
  uint8_t bytes[2 + 2 + sizeof TOPIC - 1 + 2 + PAYLOAD] = {(uint8_t)(PUBLISH << 4 | qos << 1)};
  size_t length = 2;
  bytes[length++] = 0;
  bytes[length++] = sizeof TOPIC - 1;
  memcpy(bytes + length, TOPIC, sizeof TOPIC - 1);
  length += sizeof TOPIC - 1;
  if (qos > 0) {
    if (++identifier == 0) identifier = 1;
    bytes[length++] = (uint8_t)(identifier >> 8);
    bytes[length++] = (uint8_t)identifier;
  }
  length += PAYLOAD;
  bytes[1] = (uint8_t)(length - 2);
  write_bytes(end, bytes, length);
}

/* Handles a packet at a client or, in virtual time, at the broker. */
static void handle(struct end *end, const uint8_t *packet) {
  int is_broker = end == &at_broker[0] || end == &at_broker[1];
  int level = packet[0] >> 1 & 3;
  const uint8_t *number = packet + 2;
  switch (packet[0] >> 4) {
    case CONNACK:
    case SUBACK:
      end->ready++;
      break;
    case PUBLISH:
      number = packet + 2 + 2 + packet[3];
      if (level == 1) write_answer(end, PUBACK, number);
      if (level == 2) write_answer(end, PUBREC, number);
      if (level == 2) break;
      if (is_broker) write_publish(&at_broker[SUBSCRIBER]);
      else delivered = 1;
      break;
    case PUBREC:
      write_answer(end, PUBREL, number);
      break;
    case PUBREL:
      write_answer(end, PUBCOMP, number);
      if (is_broker) write_publish(&at_broker[SUBSCRIBER]);
      else delivered = 1;
      break;
    case CONNECT: {
      uint8_t answer[] = {CONNACK << 4, 2, 0, 0};
      write_bytes(end, answer, sizeof answer);
      break;
    }
    case SUBSCRIBE: {
      uint8_t answer[] = {SUBACK << 4, 3, packet[2], packet[3], (uint8_t)qos};
      write_bytes(end, answer, sizeof answer);
      break;
    }
    default:
      break;
  }
}

static void handle_all(struct end *end) {
  while (end->filled >= 2 && end->filled >= (size_t)end->in[1] + 2) {
    uint8_t packet[130];
    size_t length = (size_t)end->in[1] + 2;
    if (end->in[1] > 127) fail("a packet is longer than expected");
    memcpy(packet, end->in, length);
    memmove(end->in, end->in + length, end->filled - length);
    end->filled -= length;
    handle(end, packet);
  }
}

static void arrive(struct packet *packet) {
  if (packet->to < 0) {
    if (write(tun, packet->bytes, packet->length) < 0) perror("lwip_probe: TUN device");
  } else {
    struct device *device = &devices[packet->to];
    struct netif *netif = &device->netif[packet->interface];
    struct pbuf *p = device->pbuf_alloc(PBUF_RAW, packet->length, PBUF_RAM);
    device->pbuf_take(p, packet->bytes, packet->length);
    if (netif->input(p, netif) != ERR_OK) device->pbuf_free(p);
  }
  free(packet);
  for (int client = 0; client < 2; client++) {
    handle_all(&ends[client]);
    handle_all(&at_broker[client]);
  }
}

/* Takes what the kernel sends to the devices. */
static void read_tun(void) {
  uint8_t bytes[1600];
  ssize_t length;
  while ((length = read(tun, bytes, sizeof bytes)) >= 20) {
    int network = bytes[18];
    if (bytes[0] >> 4 == 4 && bytes[9] == 6 && (network == 1 || network == 2))
      carry(network - 1, 0, bytes, (uint16_t)length);
  }
}

/* Runs until a condition holds, at most until a time. */
static void run(int (*done)(void), int64_t until) {
  while (!done() && now_us < until && !broken) {
    int64_t next = until;
    if (on_the_way > 0 && way[0]->due < next) next = way[0]->due;
    for (int place = 0; place < DEVICES; place++)
      if ((tun < 0 || place != BROKER) && devices[place].next_tick < next) next = devices[place].next_tick;
    if (tun < 0) {
      if (next > now_us) now_us = next;
    } else {
      struct pollfd wait = {.fd = tun, .events = POLLIN};
      int64_t left = next - clock_us();
      struct timespec time = {left > 0 ? left / 1000000 : 0, left > 0 ? left % 1000000 * 1000 : 0};
      ppoll(&wait, 1, &time, NULL);
      now_us = clock_us();
      read_tun();
    }
    while (on_the_way > 0 && way[0]->due <= now_us) {
      int was = delivered;
      arrive(next_packet());
      if (delivered != was || tun < 0) break;
    }
    for (int place = 0; place < DEVICES; place++) {
      struct device *device = &devices[place];
      if ((tun >= 0 && place == BROKER) || device->next_tick > now_us || done()) continue;
      if (tun < 0 && on_the_way > 0 && way[0]->due <= device->next_tick) continue;
      device->tcp_tmr();
      device->next_tick += TICK_US;
    }
  }
}

static int never(void) { return 0; }
static int is_delivered(void) { return delivered; }
static int is_accepted(void) { return ends[0].ready >= 1 && ends[1].ready >= 1; }
static int is_subscribed(void) { return ends[0].ready >= 2 && ends[1].ready >= 2; }

static err_t accepted(void *arg, struct tcp_pcb *pcb, err_t err) {
  (void)arg;
  (void)err;
  attach(&at_broker[ip4_addr3(ip_2_ip4(&pcb->remote_ip)) - 1], &devices[BROKER], pcb);
  return ERR_OK;
}

static err_t connected(void *arg, struct tcp_pcb *pcb, err_t err) {
  (void)pcb;
  (void)err;
  uint8_t connect[] = {CONNECT << 4, 14, 0, 4, 'M', 'Q', 'T', 'T', 4, 2, 0, 0, 0, 2, 'l', '0'};
  struct end *end = arg;
  connect[15] = (uint8_t)('0' + (end - ends));
  write_bytes(end, connect, sizeof connect);
  return ERR_OK;
}

/* Connects both clients without loss. Both subscribe, so that their set-ups are alike. */
static void connect_both(void) {
  lossy = broken = 0;
  for (int place = 0; place < 2; place++) {
    if (ends[place].pcb != NULL) devices[place].tcp_abort(ends[place].pcb);
    if (at_broker[place].pcb != NULL) devices[BROKER].tcp_abort(at_broker[place].pcb);
    ends[place].pcb = at_broker[place].pcb = NULL;
  }
  broken = 0;
  run(never, now_us + 4 * delay_us + 1000000);
  /* A device's timer may stand anywhere. */
  for (int place = 0; place < DEVICES; place++) devices[place].next_tick = now_us + (int64_t)(uniform() * 2 * TICK_US);
  broken = 0;
  for (int place = 0; place < 2; place++) {
    ip_addr_t broker;
    if (tun >= 0) IP_ADDR4(&broker, 10, 77, 0, 1);
    else IP_ADDR4(&broker, 10, 77, place + 1, 1);
    struct tcp_pcb *pcb = devices[place].tcp_new();
    attach(&ends[place], &devices[place], pcb);
    if (devices[place].tcp_connect(pcb, &broker, 1883, connected) != ERR_OK) fail("tcp_connect");
  }
  run(is_accepted, now_us + 30000000);
  for (int place = 0; place < 2; place++) {
    const char *topic = place == SUBSCRIBER ? TOPIC : "lwip/other";
    uint8_t subscribe[7 + sizeof TOPIC - 1] = {SUBSCRIBE << 4 | 2, 5 + sizeof TOPIC - 1, 0, 1, 0, sizeof TOPIC - 1};
    memcpy(subscribe + 6, topic, sizeof TOPIC - 1);
    subscribe[6 + sizeof TOPIC - 1] = (uint8_t)qos;
    write_bytes(&ends[place], subscribe, sizeof subscribe);
  }
  run(is_subscribed, now_us + 30000000);
  if (!is_subscribed()) fail("no answer to CONNECT and SUBSCRIBE");
  run(never, now_us + 4 * delay_us + 1000000);
  lossy = 1;
}

static void open_tun(const char *name) {
  struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI};
  snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
  tun = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
  if (tun < 0 || ioctl(tun, TUNSETIFF, &request) < 0) fail("cannot open the TUN device");
}

int main(int count, char **words) {
  if (count < 6) fail("usage: lwip_probe QOS LOSS DELAY_MS MESSAGES SEED [TUN]");
  qos = atoi(words[1]);
  loss = atof(words[2]);
  delay_us = (int64_t)(atof(words[3]) * 1000);
  int messages = atoi(words[4]);
  /* Neighbouring seeds would otherwise give the same numbers, shifted by one. */
  random_state = mixed(strtoull(words[5], NULL, 10) * 0x9e3779b97f4a7c15u + 1);
  if (count > 6) {
    open_tun(words[6]);
    now_us = clock_us();
  }
  for (int place = 0; place < DEVICES; place++) make_device(place);
  struct device *broker = &devices[BROKER];
  struct tcp_pcb *listening = broker->tcp_new();
  if (broker->tcp_bind(listening, NULL, 1883) != ERR_OK) fail("tcp_bind");
  listening = broker->listen(listening, 8);
  broker->tcp_accept(listening, accepted);
  for (int message = 0; message < messages; message++) {
    if (message % MESSAGES_A_CONNECTION == 0 || broken) connect_both();
    delivered = 0;
    int64_t published = now_us = tun >= 0 ? clock_us() : now_us;
    write_publish(&ends[PUBLISHER]);
    run(is_delivered, now_us + 3600000000LL);
    if (!delivered) {
      fprintf(stderr, "lwip_probe: a connection was given up\n");
      broken = 1;
      continue;
    }
    printf("%lld\n", (long long)(now_us - published));
  }
  return 0;
}
