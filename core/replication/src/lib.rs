//! One replica of a partition: watermark, fetch sessions, waiters.
