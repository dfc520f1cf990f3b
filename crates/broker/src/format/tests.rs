//! Formats on real and on failing disks.

use std::path::Path;
use std::sync::Arc;

use model::BrokerId;
use storage::{Disk, RealDisk, SimDisk};

use super::*;
use crate::storage_dirs::open_log_dirs;

fn config(dirs: &[&Path], more: &[(&str, &str)]) -> NodeConfig {
    let dirs: Vec<String> = dirs.iter().map(|dir| dir.display().to_string()).collect();
    let dirs = dirs.join(",");
    let least = [
        ("process.roles", "broker,controller"),
        ("node.id", "1"),
        ("controller.listener.names", "CONTROLLER"),
        (
            "listeners",
            "PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093",
        ),
        ("log.dirs", dirs.as_str()),
    ];
    let properties = least
        .iter()
        .chain(more)
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    NodeConfig::from_properties(properties.collect()).unwrap()
}

fn standalone() -> FormatOptions {
    FormatOptions::standalone("1vR05W1yRTm40ArhIWTDng")
}

fn configured() -> FormatOptions {
    FormatOptions {
        initial_controllers: InitialControllers::Configured,
        ..standalone()
    }
}

const VOTERS: (&str, &str) = ("controller.quorum.voters", "1@127.0.0.1:9093");

fn real() -> Arc<dyn Disk> {
    Arc::new(RealDisk)
}

/// Formats one directory, which has to fail; what it says.
fn refusal(config: &NodeConfig, options: &FormatOptions) -> String {
    format(&real(), config, options, 0).unwrap_err().to_string()
}

#[test]
fn a_format_leaves_the_files_of_apache_kafkas() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("data");
    let config = config(&[&path], &[]);
    let formatted = format(&real(), &config, &standalone(), 1_800_000_000_000).unwrap();
    let expected = format!(
        "Formatting dynamic metadata voter directory {} with metadata.version 4.3-IV0.",
        path.display()
    );
    assert_eq!(formatted.to_string(), expected);
    let length = |name: &str| std::fs::metadata(path.join(name)).unwrap().len();
    assert_eq!(length("bootstrap.checkpoint"), 411);
    assert_eq!(
        length("__cluster_metadata-0/00000000000000000000-0000000000.checkpoint"),
        241
    );
    let dirs = open_log_dirs(&real(), &config).unwrap();
    assert_eq!(&*dirs.cluster_id, "1vR05W1yRTm40ArhIWTDng");
    assert_eq!(dirs.log_dirs.len(), 1);
}

#[test]
fn a_quorum_of_the_configuration_keeps_no_voters_in_the_directory() {
    let dir = tempfile::tempdir().unwrap();
    let (first, second) = (dir.path().join("a"), dir.path().join("b"));
    let config = config(&[&first, &second], &[VOTERS]);
    let formatted = format(&real(), &config, &configured(), 0).unwrap();
    assert_eq!(
        formatted.dirs,
        [
            (first.clone(), FormattedAs::Metadata),
            (second.clone(), FormattedAs::Data)
        ]
    );
    assert!(!first.join("__cluster_metadata-0").exists());
    assert!(second.join("bootstrap.checkpoint").exists());
    let dirs = open_log_dirs(&real(), &config).unwrap();
    assert_ne!(dirs.log_dirs[0].directory_id, dirs.log_dirs[1].directory_id);
}

#[test]
fn what_is_formatted_is_not_formatted_again() {
    let dir = tempfile::tempdir().unwrap();
    let (first, second) = (dir.path().join("a"), dir.path().join("b"));
    let one = config(&[&first], &[VOTERS]);
    let both = config(&[&first, &second], &[VOTERS]);
    format(&real(), &one, &configured(), 0).unwrap();
    let meta = std::fs::read(first.join("meta.properties")).unwrap();
    assert!(refusal(&both, &configured()).contains("is already formatted. Use --ignore-formatted"));
    assert!(!second.exists(), "nothing was written");
    let skip = FormatOptions {
        if_formatted: IfFormatted::Skip,
        ..configured()
    };
    let formatted = format(&real(), &both, &skip, 0).unwrap();
    assert_eq!(formatted.dirs, [(second, FormattedAs::Data)]);
    assert_eq!(std::fs::read(first.join("meta.properties")).unwrap(), meta);
    let again = format(&real(), &both, &skip, 0).unwrap();
    assert_eq!(
        again.to_string(),
        "All of the log directories are already formatted."
    );
    let other = FormatOptions {
        cluster_id: "other".to_owned(),
        ..skip
    };
    assert!(refusal(&both, &other).contains("Invalid cluster.id"));
    let renamed = NodeConfig {
        node_id: BrokerId(2),
        ..both
    };
    assert!(refusal(&renamed, &configured()).contains("Invalid node.id"));
}

#[test]
fn partitions_of_nobody_do_not_become_this_nodes() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("data");
    std::fs::create_dir_all(path.join("orders-0")).unwrap();
    std::fs::write(path.join("orders-0/00000000000000000000.log"), b"x").unwrap();
    let text = refusal(&config(&[&path], &[]), &standalone());
    assert!(
        text.contains("holds the partition orders-0 but no meta.properties"),
        "{text}"
    );
    assert!(!path.join("meta.properties").exists());
}

#[test]
fn who_votes_must_be_said_once() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("data");
    let (unsaid, said) = (config(&[&path], &[]), config(&[&path], &[VOTERS]));
    let with = |initial_controllers| FormatOptions {
        initial_controllers,
        ..standalone()
    };
    let given = |list: &str| with(InitialControllers::Given(list.to_owned()));
    assert!(refusal(&unsaid, &configured()).contains("you must specify one of the following: --standalone"));
    assert!(refusal(&said, &standalone()).contains("You cannot specify controller.quorum.voters"));
    assert!(refusal(&unsaid, &given("1@h:9093")).contains("expected id@hostname:port:directory"));
    assert!(refusal(&unsaid, &given("2@h:9093:Jtflsnh6DUEpc2Xx0hyhLw")).contains("node 2 is not this node"));
    let two = "1@h:9093:Jtflsnh6DUEpc2Xx0hyhLw,2@h:9093:rQSb2DJqQRiuGYqiwWhCqg";
    assert!(refusal(&unsaid, &given(two)).contains("quorums of one"));
    assert!(!path.exists(), "nothing was written");
    format(&real(), &unsaid, &given("1@h:9093:Jtflsnh6DUEpc2Xx0hyhLw"), 0).unwrap();
    let dirs = open_log_dirs(&real(), &unsaid).unwrap();
    assert_eq!(
        dirs.metadata_dir.directory_id.to_string(),
        "Jtflsnh6DUEpc2Xx0hyhLw"
    );
}

#[test]
fn options_of_the_wrong_form_are_refused_before_anything_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("data");
    let config = config(&[&path], &[]);
    let features = |features: &[&str]| FormatOptions {
        features: features.iter().map(|feature| (*feature).to_owned()).collect(),
        ..standalone()
    };
    let release = |release: &str| FormatOptions {
        release_version: Some(release.to_owned()),
        ..standalone()
    };
    let scram = |argument: &str| FormatOptions {
        scram: vec![argument.to_owned()],
        ..standalone()
    };
    for (options, expected) in [
        (
            FormatOptions {
                cluster_id: String::new(),
                ..standalone()
            },
            "random-uuid",
        ),
        (features(&["group.version"]), "expected name=level"),
        (
            features(&["foo=1"]),
            "Unsupported feature: foo. Supported features are: eligible.leader.replicas.version",
        ),
        (features(&["kraft.version=0"]), "Cannot set kraft.version to 0"),
        (release("9.9"), "unknown release version 9.9"),
        (
            FormatOptions {
                release_version: Some("3.9".to_owned()),
                ..features(&["metadata.version=20"])
            },
            "ambiguity",
        ),
        (scram("foo"), "Failed to find equals sign"),
        (scram("PLAIN=[x]"), "expected SCRAM-SHA-256"),
        (
            scram("SCRAM-SHA-256=[name=alice,password=secret]"),
            "no SCRAM authentication yet",
        ),
    ] {
        let text = refusal(&config, &options);
        assert!(text.contains(expected), "{text}");
    }
    assert!(!path.exists());
    assert_eq!(
        format(&real(), &config, &release("3.9"), 0).unwrap().release,
        "3.9-IV0"
    );
}

#[test]
fn after_a_power_cut_a_directory_is_formatted_whole_or_can_be_formatted_again() {
    let (first, second) = (Path::new("/a/data"), Path::new("/b"));
    let config = config(&[first, second], &[]);
    let mut whole = 0;
    for seed in 0..60 {
        let sim = SimDisk::new(seed);
        let disk: Arc<dyn Disk> = Arc::new(sim.clone());
        // The power goes at a random call: a capacity that random many bytes exceed stands for it.
        sim.set_faults(storage::SimFaults {
            capacity: 1500 * seed,
            ..storage::SimFaults::default()
        });
        let cut = format(&disk, &config, &standalone(), 0);
        sim.set_faults(storage::SimFaults::default());
        sim.crash();
        match cut {
            Ok(_) => whole += 1,
            Err(_) => {
                let skip = FormatOptions {
                    if_formatted: IfFormatted::Skip,
                    ..standalone()
                };
                format(&disk, &config, &skip, 0).unwrap();
                sim.crash();
            }
        }
        assert_eq!(
            open_log_dirs(&disk, &config).unwrap().log_dirs.len(),
            2,
            "seed {seed}"
        );
    }
    assert!((1..60).contains(&whole), "{whole} formats were not cut");
}

#[test]
fn directories_that_do_not_fit_together_are_refused_in_words() {
    let dir = tempfile::tempdir().unwrap();
    let (first, second) = (dir.path().join("a"), dir.path().join("b"));
    let both = config(&[&first, &second], &[VOTERS]);
    let text = |config: &NodeConfig| open_log_dirs(&real(), config).unwrap_err().to_string();
    assert!(text(&both).contains("is not formatted: run `gracchus storage format"));
    assert!(!first.exists(), "looking leaves no trace");

    format(&real(), &both, &configured(), 0).unwrap();
    let wrong_node = NodeConfig {
        node_id: BrokerId(5),
        ..both.clone()
    };
    assert!(text(&wrong_node).contains("belongs to node 1, this is node 5"));
    let meta = std::fs::read_to_string(first.join("meta.properties")).unwrap();
    std::fs::write(second.join("meta.properties"), &meta).unwrap();
    assert!(text(&both).contains("same directory.id"));
    std::fs::write(
        second.join("meta.properties"),
        meta.replace("1vR05W1yRTm40ArhIWTDng", "elsewhere"),
    )
    .unwrap();
    assert!(text(&both).contains("belongs to cluster elsewhere"));
    std::fs::write(second.join("meta.properties"), "version=1\n").unwrap();
    assert!(text(&both).contains("is missing"));
}

#[test]
fn a_directory_without_an_id_gets_one_that_stays() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("data");
    let config = config(&[&path], &[VOTERS]);
    format(&real(), &config, &configured(), 0).unwrap();
    let meta = std::fs::read_to_string(path.join("meta.properties")).unwrap();
    let without: Vec<&str> = meta
        .lines()
        .filter(|line| !line.starts_with("directory.id"))
        .collect();
    std::fs::write(path.join("meta.properties"), without.join("\n")).unwrap();
    let id = open_log_dirs(&real(), &config).unwrap().metadata_dir.directory_id;
    assert_eq!(
        open_log_dirs(&real(), &config).unwrap().metadata_dir.directory_id,
        id
    );
}
