//! Connections, requests and threads.

use super::super::row::*;

broker_keys! {
    "advertised.listeners" List NONE, ANY, ReadOnly,
        "The addresses that clients are told to use; the listeners themselves when unset.";
    "background.threads" Int "10", at_least(1), ClusterWide, LATER;
    "connections.first.request.timeout.ms" Long "10000", at_least(0), ReadOnly,
        "How long a new connection may take until its first request is complete, before it is closed; 0 waits for ever. Gracchus's own.";
    "connections.max.idle.ms" Long "600000", ANY, ReadOnly,
        "A connection on which nothing happens for this long is closed.";
    "connections.write.timeout.ms" Long "60000", at_least(0), ReadOnly,
        "How long a client may leave its responses unread before it is disconnected; 0 waits for ever. Gracchus's own.";
    "delete.records.purgatory.purge.interval.requests" Int "1", ANY, ReadOnly, LATER;
    "early.start.listeners" List NONE, ANY, ReadOnly, LATER;
    "fetch.max.bytes" Int "57671680", at_least(1_024), ReadOnly,
        "The most bytes a fetch is answered with, whatever the client asks for.";
    "fetch.purgatory.purge.interval.requests" Int "1000", ANY, ReadOnly, LATER;
    "inter.broker.listener.name" String NONE, ANY, ReadOnly,
        "The listener that brokers use among themselves; the one of security.inter.broker.protocol when unset. This version is one broker: the name is checked and kept.";
    "listener.security.protocol.map" String "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT", ANY, PerBroker,
        "Which protocol each listener's name stands for.";
    "listeners" List "PLAINTEXT://:9092", ANY, PerBroker,
        "The addresses to listen on, NAME://host:port separated by commas; an empty host means every interface.";
    "max.connection.creation.rate" Int "2147483647", at_least(0), ClusterWide,
        "Connections taken a second, on the average of ten; past that they wait to be accepted, and none is refused.";
    "max.connections" Int "2147483647", at_least(0), ClusterWide,
        "Connections this broker takes at one time.";
    "max.connections.per.ip" Int "2147483647", at_least(0), ClusterWide, "Connections one address may hold.";
    "max.connections.per.ip.overrides" String "", ANY, ClusterWide,
        "Exceptions to max.connections.per.ip, as address:number separated by commas.";
    "max.incremental.fetch.session.cache.slots" Int "1000", at_least(0), ReadOnly,
        "Incremental fetch sessions that are kept, of 1,000,000 partitions together at most.";
    "max.request.partition.size.limit" Int "2000", at_least(1), ReadOnly,
        "The most partitions one answer of DescribeTopicPartitions lists.";
    "num.io.threads" Int "8", at_least(1), ClusterWide, "Threads for requests that may wait for a disk.";
    "num.network.threads" Int "3", at_least(1), ClusterWide,
        "Threads that serve connections. Each owns its share of them.";
    "producer.purgatory.purge.interval.requests" Int "1000", ANY, ReadOnly, LATER;
    "queued.max.request.bytes" Long "-1", ANY, ReadOnly,
        "Bytes of requests being read or waiting, over all connections; past that, connections are not read. -1 means a quarter of the memory.";
    "queued.max.requests" Int "500", at_least(1), ReadOnly,
        "Requests that may wait for an I/O thread; past that, connections are not read.";
    "request.timeout.ms" Int "30000", ANY, ReadOnly, LATER;
    "socket.congestion.control" String NONE, ANY, ReadOnly,
        "TCP congestion control of accepted connections, such as cubic; the system's choice when unset. Gracchus's own.";
    "socket.connection.setup.timeout.max.ms" Long "30000", ANY, ReadOnly, LATER;
    "socket.connection.setup.timeout.ms" Long "10000", ANY, ReadOnly, LATER;
    "socket.listen.backlog.size" Int "50", at_least(1), ReadOnly, "Connections that may wait to be accepted.";
    "socket.receive.buffer.bytes" Int "102400", ANY, ReadOnly,
        "SO_RCVBUF of connections. -1 leaves the choice to the system, and so does leaving this unset: buffers then fit the connection.";
    "socket.request.max.bytes" Int "104857600", at_least(1), ReadOnly,
        "The largest request; a connection that announces more is closed.";
    "socket.send.buffer.bytes" Int "102400", ANY, ReadOnly,
        "SO_SNDBUF of connections. -1 leaves the choice to the system, and so does leaving this unset: buffers then fit the connection.";
}
