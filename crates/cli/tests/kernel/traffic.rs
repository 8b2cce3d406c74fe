//! Downloads, applications, changes in mid-run and floods, with real sockets.

use super::*;

#[test]
fn two_hundred_short_flows_complete() {
    let web = "duration = \"2s\"\nwarmup = \"0s\"\nlink = { rate = \"40mbit\" }\n\
               aqm = { kind = \"dualpi2\" }\n\
               [[group]]\nname = \"web\"\ncc = \"cubic\"\nflows = 200\nsize = \"20kB\"\n\
               start = { every = \"5ms\" }\nrtt = \"10ms\"\n";
    let Some(summary) = run(web) else { return };
    let completed: u64 = summary.completion.iter().map(|bin| bin.flows).sum();
    println!("{completed} complete: {:?}", summary.completion);
    assert_eq!(completed, 200);
    // A handshake, and twenty thousand bytes in windows from ten packets on: at least two RTTs.
    assert!(summary.completion.iter().all(|bin| bin.time_ms.p1 >= 20.0), "{summary:?}");
}

#[test]
fn downloads_complete_and_are_counted_apart() {
    let web = "duration = \"3s\"\nwarmup = \"0s\"\nlink = { rate = \"40mbit\" }\n\
               aqm = { kind = \"dualpi2\" }\n\
               [[group]]\nname = \"A\"\ncc = \"cubic\"\nrtt = \"10ms\"\n\
               [[group]]\nname = \"B\"\ncc = \"reno\"\nflows = 0\nrtt = \"10ms\"\n\
               [[web]]\ngroup = \"B\"\nrate = \"100/s\"\nsize = \"10kb\"\nstop = \"2s\"\n";
    let Some(summary) = run(web) else { return };
    let [a, b] = [group(&summary, "A"), group(&summary, "B")];
    println!("{:?}, {:?}", b.downloads, summary.completion);
    let completed: u64 = summary.completion.iter().map(|bin| bin.flows).sum();
    assert!((150..250).contains(&completed), "some 200 in 2 s: {completed}");
    assert_eq!(b.downloads, Some(completed), "all of them, a second after the last began");
    assert!(summary.completion.iter().all(|bin| bin.group == "B" && bin.time_ms.p1 >= 20.0));
    assert!(a.cwnd_pkts.is_some() && b.cwnd_pkts.is_none(), "downloads are not sampled");
    // The downloads took 200 times 10 kB of the link, and the long flow the rest.
    assert!(b.rate_bps > 1e6 && a.rate_bps > 20e6, "{a:?} {b:?}");
}

#[test]
fn an_application_has_its_rate_on_an_idle_link() {
    // Frames of 10,000 B: seven segments with 52 B of headers each.
    let video = "duration = \"3s\"\nwarmup = \"0s\"\n\
                 link = { rate = \"40mbit\", burst = \"0b\" }\naqm = { kind = \"fifo\" }\n\
                 [[group]]\nname = \"A\"\ncc = \"cubic\"\nflows = 0\nrtt = \"10ms\"\n\
                 [[app]]\ngroup = \"A\"\nrate = \"4mbit\"\nfps = 50\nflows = 2\n";
    let Some(summary) = run(video) else { return };
    let a = group(&summary, "A");
    let app = a.app.as_ref().expect("an application");
    println!("{app:?}");
    assert_eq!((app.flows, a.flows, app.skipped), (2, 0, 0));
    // Fifty per second each, after two round trips; the last ones are still in flight.
    assert!((240..=300).contains(&app.written), "{app:?}");
    assert!(app.delivered <= app.written && app.written - app.delivered < 30, "{app:?}");
    let bytes = app.rate_bps * 3.0 / 8.0;
    let frames = |n: u64| (n * (10_000 + 7 * 52)) as f64;
    assert!(bytes >= frames(app.delivered), "{bytes} B in {app:?}");
    // The last frame may have arrived in part.
    let read = a.goodput_bps.expect("clients tell what they read") * 3.0 / 8.0;
    let whole = (app.delivered * 10_000) as f64;
    assert!((whole..whole + 2.0 * 10_000.0).contains(&read), "{read} B read in {app:?}");
    // A handshake has 60 B, and the answer to the request 52. Nothing is lost on this link. But if the
    // machine pauses, a sender may retransmit spuriously: the end of a frame, or one of
    // its segments.
    let again = (a.retransmits * (1500 + 52)) as f64;
    assert!(bytes <= frames(app.written) + 500.0 + again, "{bytes} B in {app:?}, {a:?}");
    // The data before the last segment of a frame takes 6 · 1514 B of the link.
    assert!(app.delay_ms.is_some_and(|delay| delay.p1 >= 1.816), "{app:?}");
    assert!(a.cwnd_pkts.is_some() && a.rtt_ms.is_some(), "it is sampled: {a:?}");
}

#[test]
fn an_application_that_adapts_skips_what_the_link_does_not_carry() {
    // 4 Mb/s of frames through 2 Mb/s.
    let video = |adapt: bool| {
        format!(
            "duration = \"4s\"\nwarmup = \"0s\"\nlink.rate = \"2mbit\"\naqm = \"codel\"\n\
             [[group]]\nname = \"A\"\ncc = \"cubic\"\nflows = 0\nrtt = \"10ms\"\n\
             [[app]]\ngroup = \"A\"\nrate = \"4mbit\"\nfps = 50\nadapt = {adapt}\n"
        )
    };
    let Some(patient) = run_undisturbed(&video(false)) else { return };
    let Some(adapting) = run_undisturbed(&video(true)) else { return };
    let [patient, adapting] =
        [&patient, &adapting].map(|summary| group(summary, "A").app.clone().expect("one"));
    println!("{patient:?}\n{adapting:?}");
    // 200 frames are due, less those of two round trips; 2 Mb/s carry 23.9 per second.
    for app in [&patient, &adapting] {
        assert!((160..=200).contains(&(app.written + app.skipped)), "{app:?}");
        assert!(app.delivered <= app.written.min(96), "{app:?}");
    }
    assert_eq!(patient.skipped, 0);
    assert!(adapting.skipped >= 90, "{adapting:?}");
    // Undelivered frames are only those in the socket and in the queue, which are few.
    assert!(adapting.written - adapting.delivered < 20, "{adapting:?}");
    let mean = |app: &l4s_measure::AppSummary| app.delay_ms.expect("delays").mean;
    assert!(mean(&adapting) < mean(&patient), "{adapting:?} {patient:?}");
}

#[test]
fn the_link_the_path_and_the_discipline_change_in_mid_run() {
    let changes = "duration = \"4s\"\nwarmup = \"0s\"\nlink = { rate = \"40mbit\" }\n\
                   aqm = { kind = \"dualpi2\" }\n\
                   [[group]]\nname = \"A\"\ncc = \"cubic\"\nrtt = \"10ms\"\n\
                   [[at]]\ntime = \"1s\"\nlink.rate = \"10mbit\"\n\
                   [[at]]\ntime = \"2s\"\ngroup.A.rtt = \"60ms\"\n\
                   [[at]]\ntime = \"3s\"\naqm = { kind = \"codel\" }\n";
    let Some(summary) = run(changes) else { return };
    let a = group(&summary, "A");
    println!("{} of {} b/s, RTT {:?} ms", a.rate_bps, summary.link.rate_bps, a.rtt_ms);
    // A second at 40 and three at 10 Mb/s.
    assert_eq!(summary.link.rate_bps, 17.5e6);
    assert!((0.6..1.01).contains(&summary.link.utilization), "{}", summary.link.utilization);
    // Half the time at 10 ms and half at 60 ms, plus the queueing delay.
    assert!(a.rtt_ms.is_some_and(|rtt| rtt > 35.0), "{a:?}");
    let queue = |name: &str| summary.queues.iter().find(|queue| queue.name == name);
    // One queue before the change, the other after it. How many packets depends on the load of the machine.
    assert!(["C", "Q"].iter().all(|name| queue(name).is_some_and(|q| q.packets > 0)));
}

#[test]
fn a_flood_of_small_packets_is_dropped_and_counted() {
    let flood = "duration = \"1s\"\nwarmup = \"200ms\"\n\
                 link = { rate = \"10mbit\", buffer = \"100p\" }\naqm = { kind = \"fifo\" }\n\
                 udp = [{ name = \"U\", rate = \"200mbit\", packet = \"64b\" }]\n";
    let Some(summary) = run(flood) else { return };
    let (queue, flood) = (&summary.queues[0], group(&summary, "U"));
    println!("{} passed, {:?} dropped", flood.packets, queue.drops);
    // 64 B and 14 B of Ethernet at 10 Mb/s for 0.8 s: at most 12,820. There are fewer wherever the machine
    // pauses for longer than the 6 ms that 100 packets take: 839 beside four compilers on two cores.
    assert!((100..12_900).contains(&flood.packets), "{flood:?}");
    assert!(queue.drops.limit > flood.packets, "{queue:?}");
    assert!(flood.drop.is_some_and(|drop| drop > 0.5), "{flood:?}");
}

/// A download, an upload and a hop with real TCP: acknowledgements share the uplink with the upload, and the
/// upload's own pass the way down.
#[test]
fn an_upload_shares_the_uplink_with_acknowledgements() {
    let both = "duration = \"4s\"\nwarmup = \"2s\"\nlink.rate = \"20mbit\"\n\
                uplink = { rate = \"4mbit\", aqm = { kind = \"dualpi2\" } }\n\
                [[group]]\nname = \"down\"\ncc = \"cubic\"\nrtt = \"20ms\"\n\
                [[group]]\nname = \"up\"\ndirection = \"up\"\ncc = \"cubic\"\nrtt = \"20ms\"\n\
                [[hop]]\nname = \"access\"\nplace = \"behind\"\nrate = \"10mbit\"\ngroups = [\"down\"]\n";
    let Some(summary) = run(both) else { return };
    let (down, up) = (group(&summary, "down"), group(&summary, "up"));
    let of = |name: &str| summary.hops.iter().find(|hop| hop.name == name).unwrap();
    let (access, uplink) = (of("access"), of("uplink"));
    println!("{down:?}\n{up:?}\n{access:?}\n{uplink:?}");
    assert_eq!((&*uplink.name, uplink.direction.as_deref()), ("uplink", Some("up")));
    assert_eq!(up.direction.as_deref(), Some("up"));
    // IP of 1500 B of 1514 on the link, less the acknowledgements.
    assert!((2e6..4e6).contains(&up.rate_bps), "{}", up.rate_bps);
    assert!((5e6..10e6).contains(&down.rate_bps), "{}", down.rate_bps);
    assert!(up.packets < uplink.queues.iter().map(|queue| queue.packets).sum());
    // Both have the queue of the uplink in their round trip.
    assert!(down.rtt_ms.unwrap() > 22.0 && up.rtt_ms.unwrap() > 22.0);
}

/// Real TCP over a path that is not perfect: the kernel retransmits what the path lost, and what its own checksums
/// found wrong.
#[test]
fn an_imperfect_path_loses_and_changes_real_packets() {
    let both = "duration = \"4s\"\nwarmup = \"1s\"\nlink.rate = \"20mbit\"\n\
                [[group]]\nname = \"A\"\ncc = \"cubic\"\nrtt = \"10ms\"\n\
                [[path]]\nname = \"far\"\nloss = { to_bad = 0.002, to_good = 0.2 }\n\
                corrupt = 0.005\nduplicate = 0.02\njitter = \"1ms\"\n\
                [[path]]\nname = \"up\"\ndirection = \"up\"\nloss = 0.05\naccecn = \"strip\"\n";
    let Some(summary) = run(both) else { return };
    let a = group(&summary, "A");
    let of = |name: &str| summary.paths.iter().find(|path| path.name == name).unwrap();
    let (far, up) = (of("far"), of("up"));
    println!("{a:?}\n{far:?}\n{up:?}");
    for count in [far.lost, far.corrupted, far.duplicated, up.lost] {
        assert!(count > 0);
    }
    // Of what was wrong at the edges of the run the retransmission is outside.
    let wrong = far.lost + far.corrupted;
    assert!(a.retransmits * 2 > wrong && a.retransmits < wrong * 3, "{} of {wrong}", a.retransmits);
    assert!(a.goodput_bps.is_some_and(|goodput| goodput > 1e6), "{:?}", a.goodput_bps);
}

/// 20 Mb/s make 826 acknowledgements per second, of which an uplink of 200 kb/s carries 379. The filter takes out what is
/// too much, and the download goes on; how many these are depends on the machine.
#[test]
fn a_filter_takes_acknowledgements_out_of_a_slow_uplink() {
    let slow = "duration = \"4s\"\nwarmup = \"2s\"\nlink.rate = \"20mbit\"\n\
                uplink = { rate = \"200kbit\", ack_filter = \"on\", aqm = { kind = \"fifo\" } }\n\
                [[group]]\nname = \"down\"\ncc = \"cubic\"\nrtt = \"20ms\"\n";
    let Some(summary) = run(slow) else { return };
    let (down, uplink) = (group(&summary, "down"), &summary.hops[0]);
    println!("{down:?}\n{uplink:?}");
    let queue = &uplink.queues[0];
    let filtered = queue.drops.ack_filter.expect("a full link makes more than the uplink carries");
    assert!(filtered > 0 && queue.packets > 0, "{queue:?}");
    assert_eq!(queue.drop, Some(0.0), "nothing else is dropped: {queue:?}");
    // Without a filter 379 acknowledgements per second, of two segments each, limit it to 9.2 Mb/s; a Linux that
    // coalesces segments acknowledges more with each.
    assert!(down.packets > 0 && down.goodput_bps.is_some_and(|rate| rate > 1e6), "{down:?}");
}
