#!/usr/bin/env python3
"""Load that remembers what the broker promised: load.py BOOTSTRAP DIR TOPIC PARTITIONS REMADE PARTITIONS

Two idempotent producers (acks=all) write numbered records to every partition, and a consumer group reads and commits
synchronously. Appends to DIR/acks.tsv (partition, offset, value) what was acknowledged, and to DIR/commits.tsv
(partition, offset) what was committed. Another client makes the topic REMADE, writes to it and deletes it, over and
over; each value begins with the number of its incarnation. Appends to DIR/remade.tsv `made N`, `acknowledged PARTITION
OFFSET VALUE`, `deleting N` (before it asks) and `deleted N`. Goes on through any number of broker crashes until its
standard input closes. The line `hold` makes the client of REMADE hold still between two steps, which `held` answers;
`go on` ends that.
"""
import itertools, os, sys, threading, time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "suites", "lib"))
import suite

suite.in_venv("confluent-python", "confluent-kafka==2.16.1")
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

BOOTSTRAP, DIR, TOPIC, PARTITIONS = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
REMADE, REMADE_PARTITIONS = sys.argv[5], int(sys.argv[6])
GROUP = "crash-" + TOPIC
CLIENT = {"bootstrap.servers": BOOTSTRAP, "reconnect.backoff.ms": 20, "reconnect.backoff.max.ms": 100}
PRODUCER = CLIENT | {
    "enable.idempotence": True, "acks": "all", "linger.ms": 2, "delivery.timeout.ms": 2147483647,
    "retry.backoff.ms": 20, "retry.backoff.max.ms": 100, "queue.buffering.max.messages": 20000,
    "topic.metadata.refresh.interval.ms": 1000,
}
stopping, hold, held, deleted_once = (threading.Event() for _ in range(4))


def give_up(why):
    print(why, file=sys.stderr, flush=True)
    os._exit(1)


def produce(name):
    acks = open(os.path.join(DIR, "acks.tsv"), "a", buffering=1)
    producer = Producer(PRODUCER)

    def delivered(error, message):
        if error is None:
            acks.write(f"{message.partition()}\t{message.offset()}\t{message.value().split(b' ')[0].decode()}\n")
        else:
            give_up(f"{name}: {error}")

    n = 0
    while not stopping.is_set():
        try:
            # Now and then one that the journal leaves to the segment.
            value = f"{name}.{n} ".encode() + b"x" * (200_000 if n % 1999 == 1998 else n % 400)
            producer.produce(TOPIC, value, partition=n % PARTITIONS, on_delivery=delivered)
            n += 1
        except BufferError:
            producer.poll(0.05)
        producer.poll(0)
        if n % 50 == 0:
            time.sleep(0.005)
    producer.flush(60)
    acks.close()


def consume():
    commits = open(os.path.join(DIR, "commits.tsv"), "a", buffering=1)
    consumer = Consumer(CLIENT | {
        "group.id": GROUP, "enable.auto.commit": False, "auto.offset.reset": "earliest", "session.timeout.ms": 6000,
        "heartbeat.interval.ms": 500, "topic.metadata.refresh.interval.ms": 1000,
    })
    consumer.subscribe([TOPIC])
    while not stopping.is_set():
        got = consumer.consume(500, 0.1)
        if any(m.error() is None for m in got):
            try:
                for tp in consumer.commit(asynchronous=False):
                    if tp.error is None and tp.offset >= 0:
                        commits.write(f"{tp.partition}\t{tp.offset}\n")
            except KafkaException:
                pass  # not acknowledged: nothing was promised
    commits.close()


def remake():
    notes = open(os.path.join(DIR, "remade.tsv"), "a", buffering=1)
    admin = AdminClient(CLIENT)

    unsure = {KafkaError._TIMED_OUT, KafkaError._TRANSPORT, KafkaError.REQUEST_TIMED_OUT, KafkaError.NOT_CONTROLLER}

    def until_done(ask, is_done):
        """Asks again while an answer fails to come; then the broker may say that it was done before."""
        for attempt in itertools.count():
            try:
                return ask()[REMADE].result()
            except KafkaException as e:
                error = e.args[0]
                if error.code() == is_done and attempt > 0:
                    return
                if error.code() not in unsure:
                    give_up(f"{REMADE}: {error}")

    def pause():
        while hold.is_set() and not stopping.is_set():
            held.set()
            time.sleep(0.01)
        held.clear()

    for incarnation in itertools.count(1):
        pause()
        if stopping.is_set():
            break
        new = NewTopic(REMADE, num_partitions=REMADE_PARTITIONS, replication_factor=1)
        until_done(lambda: admin.create_topics([new], request_timeout=5), KafkaError.TOPIC_ALREADY_EXISTS)
        notes.write(f"made\t{incarnation}\n")
        write_remade(incarnation, notes, pause)
        if stopping.is_set():
            break
        notes.write(f"deleting\t{incarnation}\n")
        until_done(lambda: admin.delete_topics([REMADE], request_timeout=5), KafkaError.UNKNOWN_TOPIC_OR_PART)
        notes.write(f"deleted\t{incarnation}\n")
        deleted_once.set()
    notes.close()


def write_remade(incarnation, notes, pause):
    """Some records, more in some incarnations than in others, all acknowledged in the end."""
    # A producer of its own: it knows nothing of the incarnation before, and must not make the topic by itself.
    producer = Producer(PRODUCER | {"allow.auto.create.topics": False})

    def delivered(error, message):
        if error is None:
            value = message.value().split(b" ")[0].decode()
            notes.write(f"acknowledged\t{message.partition()}\t{message.offset()}\t{value}\n")
        else:
            give_up(f"{REMADE}: {error}")

    n = 0
    for _ in range(1 + incarnation * 7 % 20):
        for _ in range(50):
            value = f"{incarnation}.{n} ".encode() + b"x" * (n % 400)
            producer.produce(REMADE, value, partition=n % REMADE_PARTITIONS, on_delivery=delivered)
            n += 1
        producer.poll(0.02)
        if hold.is_set():
            producer.flush()
            pause()
    producer.flush()
    pause()


threads = [threading.Thread(target=produce, args=(f"{os.getpid()}-{i}",)) for i in range(2)]
threads += [threading.Thread(target=consume), threading.Thread(target=remake)]
for t in threads:
    t.daemon = True
    t.start()
if not deleted_once.wait(60):
    give_up(f"{REMADE} was not deleted within 60 s")
print("started", flush=True)
for line in sys.stdin:
    if line == "hold\n":
        hold.set()
        if not held.wait(120):
            give_up(f"{REMADE}: no step came to an end within 120 s")
        print("held", flush=True)
    else:
        hold.clear()
stopping.set()
for t in threads:
    t.join(90)
