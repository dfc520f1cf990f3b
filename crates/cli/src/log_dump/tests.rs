//! The golden data directory, dumped: what Apache Kafka's own tool printed for each of its files.

use std::fs;
use std::process::Command;

use super::*;

/// A data directory written by Apache Kafka 4.3.1, and beside it the dumps.
fn golden() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let archive = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/golden/kafka-data-4.3.1.tar.gz"
    );
    let mut tar = Command::new("tar");
    let unpacked = tar
        .args(["-xzf", archive, "--strip-components=1", "-C"])
        .arg(folder.path())
        .status();
    assert!(unpacked.unwrap().success(), "tar unpacks {archive}");
    folder
}

fn options(folder: &str) -> Options {
    let decoder = Decoder::for_folder(folder);
    Options {
        // As the golden dumps were made: contents where a decoder knows them, outlines elsewhere.
        records: if decoder == Decoder::STRINGS {
            Records::Outlines
        } else {
            Records::Contents(decoder)
        },
        without_metadata: false,
        max_bytes: None,
        indexes: Indexes::Print,
        texts: Texts::Print,
    }
}

#[test]
fn every_golden_file_is_dumped_as_kafka_dumps_it() {
    let mut compared = 0;
    let golden = golden();
    let golden = golden.path();
    for expected in fs::read_dir(golden.join("dump")).unwrap() {
        let expected = expected.unwrap().path();
        let name = expected.file_stem().unwrap().to_str().unwrap();
        let (folder, file) = name.rsplit_once('_').unwrap();
        let path = golden.join("data").join(folder).join(file);
        let mut findings = Findings::default();
        let mut out = format!("Dumping {folder}/{file}\n").into_bytes();
        assert!(dump_file(&path, &options(folder), &mut findings, &mut out).unwrap());
        let prefix = format!("{}/", golden.display());
        let found = String::from_utf8(out).unwrap() + &findings.to_string().replace(&prefix, "");
        let expected = fs::read_to_string(&expected).unwrap();
        for (line, (found, expected)) in found.lines().zip(expected.lines()).enumerate() {
            assert_eq!(found, expected, "line {} of {name}", line + 1);
        }
        assert_eq!(found.lines().count(), expected.lines().count(), "{name}");
        compared += 1;
    }
    assert!(compared > 60, "only {compared} dumps were there to compare");
}

/// What is printed of a golden file after `change` was done to it, and what was found to be wrong.
fn dump_changed(file: &str, options: &Options, change: impl FnOnce(&mut Vec<u8>)) -> (String, String) {
    let golden = golden();
    let path = golden.path().join("data").join(file);
    let mut content = fs::read(&path).unwrap();
    change(&mut content);
    fs::write(&path, content).unwrap();
    let (mut findings, mut out) = (Findings::default(), Vec::new());
    dump_file(&path, options, &mut findings, &mut out).unwrap();
    let findings = findings
        .to_string()
        .replace(&golden.path().join("data/").display().to_string(), "");
    (String::from_utf8_lossy(&out).into_owned(), findings)
}

const FIRST: &str = "plain-0/00000000000000000000";

#[test]
fn an_index_that_does_not_agree_with_its_log_is_told() {
    let verify = Options {
        indexes: Indexes::Verify,
        ..options("plain-0")
    };
    let (printed, found) = dump_changed(&format!("{FIRST}.index"), &verify, |index| index[3] ^= 1);
    assert_eq!(printed, "");
    assert_eq!(
        found,
        format!("Mismatches in :{FIRST}.index\n  Index offset: 20, log offset: 21\n")
    );
    let (_, found) = dump_changed(&format!("{FIRST}.timeindex"), &verify, |index| {
        index[7] ^= 1;
        index[24 + 11] ^= 3;
    });
    let expected = format!(
        "Found timestamp mismatch in :{FIRST}.timeindex\n  Index timestamp: 1700000042001, log timestamp: 1700000042000\n\
         The following indexed offsets are not found in :{FIRST}.timeindex\nIndexed offset: 50, found log offset: 56\n"
    );
    assert_eq!(found, expected);
}

#[test]
fn a_damaged_batch_and_a_torn_end_are_shown() {
    let batches = Options {
        records: Records::None,
        ..options("plain-0")
    };
    let (printed, _) = dump_changed(&format!("{FIRST}.log"), &batches, |log| {
        log[70] ^= 1;
        log.extend_from_slice(&[0; 3]);
    });
    let lines: Vec<&str> = printed.lines().collect();
    assert!(
        lines[1].ends_with("crc: 1977152212 isvalid: false"),
        "{}",
        lines[1]
    );
    assert!(lines[2].ends_with("isvalid: true"), "{}", lines[2]);
    assert_eq!(
        lines.last(),
        Some(&"Found 3 invalid bytes at the end of 00000000000000000000.log")
    );
}

#[test]
fn contents_are_printed_with_and_without_what_surrounds_them() {
    let contents = Options {
        records: Records::Contents(Decoder::STRINGS),
        max_bytes: Some(91),
        ..options("plain-0")
    };
    let (printed, _) = dump_changed(&format!("{FIRST}.log"), &contents, |_| {});
    let last = "| offset: 0 CreateTime: 1700000000000 keySize: 2 valueSize: 14 sequence: 0 headerKeys: [h,n] key: k0 payload: plain value 0 ";
    assert_eq!(printed.lines().last(), Some(last));
    let bare = Options {
        without_metadata: true,
        ..contents
    };
    let (printed, _) = dump_changed(&format!("{FIRST}.log"), &bare, |_| {});
    assert_eq!(printed.lines().last(), Some("| key: k0 payload: plain value 0 "));
}

#[test]
fn checkpoints_are_printed_with_their_columns_named() {
    let (printed, _) = dump_changed("plain-0/leader-epoch-checkpoint", &options("plain-0"), |_| {});
    assert_eq!(printed, "epoch: 0 startOffset: 0\n");
    let (printed, _) = dump_changed("log-start-offset-checkpoint", &options("data"), |_| {});
    assert!(
        printed.contains("partition: deleted-prefix-0 offset: 7\n"),
        "{printed}"
    );
}
