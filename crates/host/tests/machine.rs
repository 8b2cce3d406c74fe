//! On a real kernel: installation, removal, and no remains. Each test has a network namespace, a BPF file
//! system and folders of its own, which are gone with its thread. It needs root, and a kernel with BPF queue disciplines unless it is about Prague alone, and
//! prints a message if it cannot run. `make test-vm` runs the tests in such a kernel.

use std::fs;
use std::process::Command;
use std::sync::{Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use l4s_aqm::dualpi2::Config;
use l4s_bpf::Finding;
use l4s_cc::prague;
use l4s_host::{
    DUALPI2, Device, HostError, Install, Journal, PRAGUE, Place, WantedPrague, WantedQueue,
    install, remove, status,
};
use l4s_units::param::Configurable;
use rustix::thread::{UnshareFlags, unshare_unsafe};

/// Names in the kernel belong to the whole machine, so one test runs at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn run(program: &str, arguments: &str) -> String {
    let done = Command::new(program).args(arguments.split(' ')).output().expect(program);
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{program} {arguments}: {said}");
    String::from_utf8_lossy(&done.stdout).into_owned()
}

/// A machine of its own: folders, and devices d0 and d1.
struct Machine {
    place: Place,
    _run: tempfile::TempDir,
    _alone: MutexGuard<'static, ()>,
}

/// Runs a test in a thread with a network namespace of its own.
fn on_a_machine(name: &str, test: impl FnOnce(&Machine) + Send) {
    let probe = l4s_bpf::probe();
    on_a_machine_with(&[&probe.permission, &probe.queues], name, test);
}

/// The same for a test of Prague alone.
fn prague_on_a_machine(name: &str, test: impl FnOnce(&Machine) + Send) {
    let probe = l4s_bpf::probe();
    on_a_machine_with(&[&probe.permission, &probe.struct_ops, &probe.tcx], name, test);
}

fn on_a_machine_with(needs: &[&Finding], name: &str, test: impl FnOnce(&Machine) + Send) {
    if let Some(why) = needs.iter().find_map(|found| found.reason()) {
        return println!("skipped: {why}");
    }
    let alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let folder = tempfile::tempdir().expect("a folder");
    let programs = folder.path().join("bpf");
    fs::create_dir(&programs).expect("a folder");
    let place = Place { pins: programs.join(name), run: folder.path().to_owned() };
    let machine = Machine { place, _run: folder, _alone: alone };
    let scope = &machine;
    thread::scope(|threads| {
        let result = threads.spawn(move || {
            // SAFETY: new namespaces have no effect on memory safety.
            #[allow(unsafe_code)]
            unsafe { unshare_unsafe(UnshareFlags::NEWNET | UnshareFlags::NEWNS) }
                .expect("root may unshare");
            run("mount", "--make-rprivate /");
            run("mount", &format!("-t bpf bpf {}", programs.display()));
            run("ip", "link add d0 type veth peer name d0p");
            run("ip", "link add d1 type veth peer name d1p");
            test(scope);
        });
        result.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
}

fn queue(rate: &str) -> WantedQueue {
    WantedQueue {
        config: Config::linux(),
        rate: Some(rate.parse().expect("a rate")),
        settings: vec![format!("rate={rate}")],
        replace: false,
    }
}

fn prague(profile: &str, devices: &[&str]) -> Install {
    let config = prague::Config::profile(profile).expect("a profile");
    Install {
        prague: Some(WantedPrague { config, profile: profile.to_owned() }),
        devices: devices.iter().map(|name| Device::named(name).expect("it is there")).collect(),
        ..Install::default()
    }
}

fn everything(devices: &[&str]) -> Install {
    Install { queue: Some(queue("40mbit")), ..prague("paper", devices) }
}

fn root_of(device: &str) -> String {
    run("tc", &format!("qdisc show dev {device}"))
}

fn most_at_once(device: &str) -> String {
    let shown = run("ip", &format!("-d link show {device}"));
    let mut words = shown.split_whitespace().skip_while(|word| *word != "gso_max_segs");
    words.nth(1).expect("a number").to_owned()
}

fn controls() -> String {
    fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").expect("TCP")
}

/// The numbers of programs and maps of this kernel, after those that are being freed are gone.
fn programs_and_maps() -> (usize, usize) {
    let count = || {
        let programs = libbpf_rs::query::ProgInfoIter::default().count();
        (programs, libbpf_rs::query::MapInfoIter::default().count())
    };
    let mut last = count();
    for _ in 0..100 {
        thread::sleep(Duration::from_millis(20));
        last = last.min(count());
    }
    last
}

/// The machine is in the state before the installation.
fn is_as_before(machine: &Machine, before: &[String]) {
    for (device, root) in ["d0", "d1"].iter().zip(before) {
        assert_eq!(root_of(device), *root);
        assert_eq!(most_at_once(device), "65535");
    }
    assert!(!machine.place.pins.exists(), "{}", machine.place.pins.display());
    assert!(Journal::read(&machine.place).expect("a journal").is_empty());
    assert!(!controls().contains(PRAGUE), "{}", controls());
}

#[test]
fn what_is_installed_is_there_and_what_is_removed_is_not() {
    on_a_machine("both", |machine| {
        let before = ["d0", "d1"].map(root_of);
        let wanted = everything(&["d0", "d1"]);
        let done = install(&machine.place, &wanted).expect("installed").done;
        assert_eq!(done.len(), 5, "{done:?}");
        let now = status(&machine.place).expect("a status");
        assert!(now.prague && now.devices.len() == 2);
        assert!(now.devices.iter().all(|device| device.ect1 && device.queue.is_some()));
        assert!(root_of("d0").contains(DUALPI2) && controls().contains(PRAGUE));
        assert_eq!(most_at_once("d0"), "1");

        // Again, with another rate: only the settings change.
        let again = Install { queue: Some(queue("1gbit")), ..wanted };
        let done = install(&machine.place, &again).expect("installed").done;
        assert!(done.iter().all(|line| line.ends_with("settings")), "{done:?}");
        assert_eq!(most_at_once("d1"), "20");
        let now = status(&machine.place).expect("a status");
        assert_eq!(now.devices[1].asked.settings, Some(vec!["rate=1gbit".to_owned()]));

        // First one device, and then the rest.
        remove(&machine.place, Some(&["d0".to_owned()])).expect("removed");
        assert_eq!(root_of("d0"), before[0]);
        assert!(root_of("d1").contains(DUALPI2) && controls().contains(PRAGUE));
        remove(&machine.place, None).expect("removed");
        is_as_before(machine, &before);
        assert!(remove(&machine.place, None).expect("removed").done.is_empty());
    });
}

#[test]
fn two_hundred_times_leave_nothing_behind() {
    let times = std::env::var("L4S_TIMES").map_or(10, |n| n.parse().expect("a number"));
    on_a_machine("often", |machine| {
        let before = ["d0", "d1"].map(root_of);
        let at_first = programs_and_maps();
        for time in 0..times {
            install(&machine.place, &everything(&["d0"])).expect("installed");
            if time % 2 == 0 {
                // A removal that l4s does not notice.
                run("tc", "qdisc del dev d0 root");
            }
            remove(&machine.place, None).expect("removed");
        }
        is_as_before(machine, &before);
        assert_eq!(programs_and_maps(), at_first);
    });
}

/// After a refusal at any step nothing is left.
#[test]
fn all_of_it_or_nothing() {
    on_a_machine("half", |machine| {
        let before = ["d0", "d1"].map(root_of);
        fs::create_dir_all(machine.place.pins.join("dualpi2")).expect("a folder");
        install(&machine.place, &everything(&["d0"])).expect("a folder that is empty is none");
        remove(&machine.place, None).expect("removed");
        is_as_before(machine, &before);

        let mut wanted = everything(&["d0", "d1"]);
        wanted.devices[1].index = 9999;
        let error = install(&machine.place, &wanted).expect_err("no such device");
        assert!(matches!(error, HostError::Machine(_)), "{error:?}");
        is_as_before(machine, &before);
    });
}

#[test]
fn a_queue_of_somebody_is_kept_or_put_back() {
    on_a_machine("somebody", |machine| {
        run("tc", "qdisc add dev d0 root handle 42: pfifo limit 77");
        let before = root_of("d0");
        let error = install(&machine.place, &everything(&["d0"])).expect_err("it is not ours");
        let HostError::Input { message, help } = error else { panic!("{error:?}") };
        assert!(message.contains("pfifo") && help.contains("--replace"), "{message} {help}");
        assert_eq!(root_of("d0"), before);
        assert!(!machine.place.pins.exists() && !controls().contains(PRAGUE));

        let mut wanted = everything(&["d0"]);
        wanted.queue.as_mut().expect("a queue").replace = true;
        install(&machine.place, &wanted).expect("installed");
        assert!(root_of("d0").contains(DUALPI2));
        remove(&machine.place, None).expect("removed");
        assert_eq!(root_of("d0"), before);

        // A user's later choice is not ours to remove.
        install(&machine.place, &Install { queue: Some(queue("1gbit")), ..everything(&["d1"]) })
            .expect("installed");
        run("tc", "qdisc replace dev d1 root handle 7: pfifo limit 5");
        let theirs = root_of("d1");
        remove(&machine.place, None).expect("removed");
        assert_eq!(root_of("d1"), theirs);
    });
}

#[test]
fn a_device_that_is_gone_is_no_trouble() {
    on_a_machine("gone", |machine| {
        install(&machine.place, &everything(&["d0", "d1"])).expect("installed");
        run("ip", "link del d0");
        let now = status(&machine.place).expect("a status");
        assert_eq!(now.devices.iter().filter(|device| device.queue.is_some()).count(), 1);
        // A new device of the same name is another device.
        run("ip", "link add d0 type veth peer name d0p");
        install(&machine.place, &everything(&["d0"])).expect("installed");
        remove(&machine.place, None).expect("removed");
        assert!(!machine.place.pins.exists() && !controls().contains(PRAGUE));
        assert!(!root_of("d0").contains(DUALPI2));
    });
}

/// The rest of the machine goes on with the profile that it has.
#[test]
fn another_profile_is_refused_and_the_installed_one_is_shown() {
    prague_on_a_machine("profile", |machine| {
        install(&machine.place, &prague("linux", &["d0"])).expect("installed");
        let wanted = prague("best-linux", &["d0", "d1"]);
        let error = install(&machine.place, &wanted).expect_err("another profile");
        let HostError::Input { message, help } = error else { panic!("{error:?}") };
        assert!(message.contains("`linux`, not with `best-linux`"), "{message}");
        assert!(help.contains("l4s host remove"), "{help}");
        let now = status(&machine.place).expect("a status");
        assert_eq!((now.profile.as_deref(), now.devices.len()), (Some("linux"), 1));

        // The same again, for one more device.
        let again = install(&machine.place, &prague("linux", &["d0", "d1"])).expect("installed");
        assert_eq!(again.done, ["ECT(1) from prague by d1"]);
        remove(&machine.place, None).expect("removed");
        install(&machine.place, &wanted).expect("installed");
        let now = status(&machine.place).expect("a status");
        assert_eq!(now.profile.as_deref(), Some("best-linux"));
        remove(&machine.place, None).expect("removed");
        assert!(Journal::read(&machine.place).expect("a journal").is_empty());
    });
}

/// Linux 6.18 has AccECN, but not for all connections.
#[test]
fn accecn_for_all_is_set_or_the_refusal_names_the_kernel_that_has_it() {
    prague_on_a_machine("accecn", |machine| {
        let ecn = || fs::read_to_string("/proc/sys/net/ipv4/tcp_ecn").expect("TCP");
        let before = ecn();
        let wanted = Install { accecn: true, ..prague("linux", &["d0"]) };
        match install(&machine.place, &wanted) {
            Ok(_) => {
                assert_eq!(ecn(), "3\n");
                remove(&machine.place, None).expect("removed");
            }
            Err(HostError::Machine(why)) => {
                assert!(why.starts_with("--accecn: ") && why.contains("Linux 7.0"), "{why}");
                assert!(why.ends_with("can be installed without it"), "{why}");
            }
            Err(error) => panic!("{error:?}"),
        }
        assert_eq!(ecn(), before);
        assert!(!machine.place.pins.exists());
        // The kernel takes a moment where an installation was undone.
        let end = Instant::now() + Duration::from_secs(10);
        while controls().contains(PRAGUE) {
            assert!(Instant::now() < end, "{}", controls());
            thread::sleep(Duration::from_millis(10));
        }
    });
}

#[test]
fn a_device_of_prague_is_removed_by_name_and_the_rest_stays() {
    prague_on_a_machine("one", |machine| {
        install(&machine.place, &prague("linux", &["d0", "d1"])).expect("installed");
        let removed = remove(&machine.place, Some(&["d0".to_owned()])).expect("removed");
        assert_eq!(removed.done, ["ECT(1) from prague by d0"]);
        let now = status(&machine.place).expect("a status");
        let rest: Vec<&str> = now.devices.iter().map(|d| d.asked.name.as_str()).collect();
        assert_eq!((now.prague, rest), (true, vec!["d1"]));
        let all = ["ECT(1) from prague by d1", "congestion control prague"];
        assert_eq!(remove(&machine.place, None).expect("removed").done, all);
    });
}

#[test]
fn ect1_goes_with_its_device_and_does_not_come_back_with_the_name() {
    prague_on_a_machine("later", |machine| {
        let place = &machine.place;
        let found = || {
            let devices = status(place).expect("a status").devices;
            devices.iter().map(|device| (device.gone, device.ect1)).collect::<Vec<_>>()
        };
        let d0 = ["d0".to_owned()];
        install(place, &prague("linux", &["d0"])).expect("installed");
        assert_eq!(found(), [(false, true)]);
        run("ip", "link del d0");
        assert_eq!(found(), [(true, false)]);
        run("ip", "link add d0 type veth peer name d0p");
        assert_eq!(found(), [(true, false)]);
        install(place, &prague("linux", &["d0"])).expect("installed");
        assert_eq!(found(), [(false, true)]);

        // One that is gone can be removed by its name; one that never was is an error.
        run("ip", "link del d0");
        let done = remove(place, Some(&d0)).expect("removed").done;
        assert_eq!(done, ["the remains of d0, which is gone"]);
        assert_eq!(found(), []);
        let error = remove(place, Some(&d0)).expect_err("no such device");
        assert!(matches!(error, HostError::Input { .. }), "{error:?}");
        remove(place, None).expect("removed");

        // A device of another namespace may have the number, and the same name.
        run("ip", "link add d0 index 77 type veth peer name d0p");
        install(place, &prague("linux", &["d0"])).expect("installed");
        run("ip", "link del d0");
        run("ip", "link add d0 index 77 type veth peer name d0p");
        assert_eq!(found(), [(true, false)]);
        let done = install(place, &prague("linux", &["d0"])).expect("installed").done;
        assert_eq!(done, ["ECT(1) from prague by d0"]);
        assert_eq!(found(), [(false, true)]);
        remove(place, None).expect("removed");
    });
}

#[test]
fn a_damaged_journal_is_answered_with_a_way_out_that_works() {
    prague_on_a_machine("damaged", |machine| {
        let place = &machine.place;
        let wanted = prague("linux", &["d0"]);
        install(place, &wanted).expect("installed");
        let journal = place.run.join("host.json");
        for text in ["", "{\"profile\":"] {
            fs::write(&journal, text).expect("written");
            let errors = [
                status(place).map(drop).expect_err("damaged"),
                install(place, &wanted).map(drop).expect_err("damaged"),
                remove(place, None).map(drop).expect_err("damaged"),
            ];
            for error in errors {
                let said = error.to_string();
                assert!(said.contains("delete it, and `l4s host remove`"), "{said}");
            }
        }
        fs::remove_file(&journal).expect("removed");
        let done = remove(place, None).expect("removed").done;
        assert_eq!(done, ["congestion control prague"]);
        assert!(!place.pins.exists() && !controls().contains(PRAGUE));
    });
}
