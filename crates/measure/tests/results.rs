//! Result files: the data is read back unchanged, and the same results give the same bytes.

mod support;

use std::fs;
use std::path::Path;

use arrow_array::RecordBatch;
use l4s_aqm::{DropCause, MarkCause, Queue};
use l4s_cc::classic_ecn::Report;
use l4s_measure::files::Dir;
use l4s_measure::{
    Cause, DelayRow, FlowRow, ResultError, ResultWriter, Results, Row, RunRecord, Scope, SeriesRow,
    golden, write_results,
};
use l4s_model::{FlowId, Hop, Per, Side, SourceId};
use l4s_observe::{FlowState, HopEvent, LinkState, Observer};
use l4s_units::{Bytes, Ecn, Probability};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use proptest::prelude::*;
use support::*;

/// A run with something in every table.
fn record() -> RunRecord {
    let mut scenario = scenario();
    scenario.groups[1].size = Some(Bytes::new(2000));
    let mut r = recorder(&scenario);
    for i in 0..600 {
        let t = at(3 * i);
        let marked = i % 10 == 0;
        let ecn = if marked { Ecn::Ce } else { Ecn::Ect1 };
        let p = Packet { ecn, ..packet(0, 0) };
        if marked {
            r.marked(&p, Queue::L, MarkCause::Step, t);
        }
        forward(&mut r, p, Queue::L, 0.3 + 0.001 * i as f64, t);
        forward(&mut r, packet(1, 1), Queue::C, 15.0, t);
        if i % 100 == 99 {
            r.dropped(&packet(1, 1), Queue::C, DropCause::Aqm, t);
            let o: &mut dyn Observer<Packet> = &mut r;
            o.round_trip(FlowId::new(0), ms(11), t);
            o.retransmitted(FlowId::new(1), t);
            let base = Some(Probability::from_f64(0.123));
            o.sample_link(
                LinkState { packets: 4, bytes: Bytes::new(6000), owed: Bytes::ZERO, base },
                t,
            );
            let alpha = Some(1.0 / 3.0);
            let (cwnd, ssthresh, srtt) = (12, None, Some(ms(11)));
            let classic_ecn = Some(report(1.25, 30));
            let (flow, group, socket) = (0, 0, None);
            let state = FlowState {
                flow: FlowId::new(flow),
                group: SourceId::new(group),
                is_app: false,
                cwnd,
                ssthresh,
                srtt,
                alpha,
                classic_ecn,
                socket,
            };
            o.sample_flow(state, t);
        }
    }
    let o: &mut dyn Observer<Packet> = &mut r;
    o.opened(FlowId::new(3), SourceId::new(1), Some(Bytes::new(2000)), at(1500));
    o.detected(FlowId::new(0), report(1.25, 30), at(1530));
    o.closed(FlowId::new(3), at(1540));
    r.finish(engine())
}

fn report(score: f64, rounds: u32) -> Report {
    Report { score, max: score + 1.0, rounds, srtt: ms(12), mdev: ms(1), depth: ms(2) }
}

fn write(folder: &Path, records: &[RunRecord]) {
    write_results(folder, records.iter().cloned().map(Ok::<_, ResultError>)).unwrap();
}

/// The record as a file holds it: without the wall clock.
fn reproducible(record: &RunRecord) -> RunRecord {
    let mut record = record.clone();
    record.summary.engine.wall_s = None;
    record
}

/// The records of a result folder.
fn read(folder: &Path) -> Vec<RunRecord> {
    let results = Results::open(folder).unwrap();
    let mut records: Vec<_> = results
        .runs()
        .iter()
        .map(|run| RunRecord {
            summary: run.summary.clone(),
            command: run.command.clone(),
            series: vec![],
            delays: vec![],
            flows: vec![],
        })
        .collect();
    for run in results.series().unwrap() {
        let (run, rows) = run.unwrap();
        records[run as usize].series = rows;
    }
    for run in results.delays().unwrap() {
        let (run, rows) = run.unwrap();
        records[run as usize].delays = rows;
    }
    for run in results.flows().unwrap() {
        let (run, rows) = run.unwrap();
        records[run as usize].flows = rows;
    }
    records
}

#[test]
fn what_is_written_is_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let mut other = record();
    // A run without flows or series between two with them.
    other.series.clear();
    other.flows.clear();
    other.summary.queues.pop();
    let records = [record(), other, record()];
    write(folder.path(), &records);
    assert_eq!(read(folder.path()), records.each_ref().map(reproducible));
}

#[test]
fn the_same_records_give_the_same_bytes() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    // The wall clock, which differs between identical runs, is not written to a file.
    let mut late = record();
    late.summary.engine.wall_s = Some(99.0);
    write(one.path(), &[record(), record()]);
    write(other.path(), &[record(), late]);
    for file in ["runs.parquet", "series.parquet", "delays.parquet", "flows.parquet"] {
        let bytes = |folder: &tempfile::TempDir| fs::read(folder.path().join(file)).unwrap();
        assert!(bytes(&one) == bytes(&other), "{file} differs");
    }
}

#[test]
fn a_run_is_a_row_with_a_column_per_quantity() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &[record()]);
    let file = fs::File::open(folder.path().join("runs.parquet")).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    let columns: Vec<_> = reader.schema().fields().iter().map(|f| f.name().as_str()).collect();
    for expected in [
        "run",
        "scenario",
        "seed",
        "set_link.rate",
        "set_group.A.flows",
        "link_rate_bps",
        "link_utilization",
        "queue_L_packets",
        "queue_L_delay_mean_ms",
        "queue_L_delay_p999_ms",
        "queue_C_drops_aqm",
        "queue_L_marks_step",
        "group_A_cc",
        "group_A_rate_bps",
        "group_A_flow_rates_p99_bps",
        "group_A_window_pkts",
        "completion_B_1000_3000_time_mean_ms",
        "ratio_rate_A_B",
        "engine_virtual_s",
        "command",
        "summary_json",
    ] {
        assert!(columns.contains(&expected), "no {expected} among {columns:?}");
    }
    assert!(!columns.contains(&"engine_wall_s"));
}

#[test]
fn columns_keep_the_type_and_the_place_of_their_quantity() {
    let folder = tempfile::tempdir().unwrap();
    // The first run lacks keys that the second has, and their settings differ in type.
    let mut first = record();
    first.summary.queues.remove(0);
    first.summary.set.insert("link.rate".to_owned(), 4.into());
    write(folder.path(), &[first, record()]);
    let file = fs::File::open(folder.path().join("runs.parquet")).unwrap();
    let schema = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().schema().clone();
    let kind = |name| schema.field_with_name(name).unwrap().data_type().to_string();
    assert_eq!(kind("queue_L_packets"), "UInt64");
    assert_eq!(kind("queue_L_delay_mean_ms"), "Float64");
    assert_eq!(kind("set_link.rate"), "Utf8");
    assert_eq!(kind("set_group.A.flows"), "UInt64");
    // Only a column that some run lacks has nulls.
    assert!(schema.field_with_name("queue_L_packets").unwrap().is_nullable());
    assert!(!schema.field_with_name("queue_C_packets").unwrap().is_nullable());
    let place = |name| schema.index_of(name).unwrap();
    assert!(place("queue_L_packets") < place("group_A_packets"));
}

#[test]
fn nothing_is_visible_before_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = ResultWriter::create(folder.path()).unwrap();
    writer.add(&record()).unwrap();
    let parquet = || {
        let names = fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name());
        names.filter(|n| n.to_string_lossy().ends_with(".parquet")).count()
    };
    assert_eq!(parquet(), 0);
    drop(writer);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_result_that_cannot_be_read_says_which_file_and_why() {
    let folder = tempfile::tempdir().unwrap();
    let error = Results::open(folder.path()).unwrap_err().to_string();
    assert!(error.contains("runs.parquet: No such file"), "{error}");
    fs::write(folder.path().join("runs.parquet"), "not parquet").unwrap();
    let error = Results::open(folder.path()).unwrap_err().to_string();
    assert!(error.contains("runs.parquet"), "{error}");
    let refused = ResultWriter::create(folder.path()).err().unwrap().to_string();
    assert!(refused.ends_with("is there already, and l4s did not write it"), "{refused}");
    fs::remove_file(folder.path().join("runs.parquet")).unwrap();
    // A Parquet file, but of another table.
    write(folder.path(), &[record()]);
    fs::rename(folder.path().join("flows.parquet"), folder.path().join("runs.parquet")).unwrap();
    let error = Results::open(folder.path()).unwrap_err().to_string();
    assert!(error.contains("runs.parquet: damaged: its checksum is"), "{error}");
    // Without checksums, as in earlier versions, the column is missing.
    fs::remove_file(folder.path().join("l4s.json")).unwrap();
    let error = Results::open(folder.path()).unwrap_err().to_string();
    assert!(error.contains("`summary_json` is missing"), "{error}");
}

#[test]
fn a_folder_without_checksums_is_read_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &[record()]);
    fs::remove_file(folder.path().join("l4s.json")).unwrap();
    assert_eq!(read(folder.path()), [reproducible(&record())]);
    // An earlier version's list had no files.
    fs::write(folder.path().join("l4s.json"), "{\"version\":\"0.1.0\"}").unwrap();
    assert_eq!(read(folder.path()), [reproducible(&record())]);
}

#[test]
fn results_are_written_anew_over_those_that_l4s_wrote() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &[record(), record()]);
    write(folder.path(), &[record()]);
    assert_eq!(read(folder.path()).len(), 1);
    fs::write(folder.path().join("flows.parquet"), "mine").unwrap();
    let refused = ResultWriter::create(folder.path()).err().unwrap().to_string();
    assert!(refused.ends_with("flows.parquet: it was changed since l4s wrote it"), "{refused}");
}

#[test]
fn a_record_is_kept_in_a_file_without_loss() {
    let folder = tempfile::tempdir().unwrap();
    let dir = Dir::open(folder.path()).unwrap();
    record().save(&dir, "0000000", "plan 0").unwrap();
    assert_eq!(RunRecord::load(&dir, "0000000", "plan 0").unwrap(), record());
    let other = RunRecord::load(&dir, "0000000", "plan 1").unwrap_err();
    assert!(matches!(other.cause, Cause::Damaged(_)), "{other}");
    fs::write(folder.path().join("0000000"), "{\"summary\":").unwrap();
    let error = RunRecord::load(&dir, "0000000", "plan 0").unwrap_err().to_string();
    assert!(error.contains("0000000: damaged"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// For any change of a file that l4s wrote, no number is taken from it.
    #[test]
    fn any_change_of_a_file_is_found(
        which in 0..5usize, at in any::<prop::sample::Index>(), flip in 1u8.., cut in any::<bool>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let dir = Dir::open(folder.path()).unwrap();
        write(folder.path(), &[record()]);
        record().save(&dir, "part", "plan 0").unwrap();
        let name = ["runs.parquet", "series.parquet", "delays.parquet", "flows.parquet", "part"][which];
        let path = folder.path().join(name);
        let mut bytes = fs::read(&path).unwrap();
        let at = at.index(bytes.len());
        if cut { bytes.truncate(at) } else { bytes[at] ^= flip }
        fs::write(&path, bytes).unwrap();
        let found = match which {
            4 => RunRecord::load(&dir, "part", "plan 0").err(),
            _ => Results::open(folder.path()).and_then(|results| {
                results.series()?;
                results.delays()?;
                results.flows().map(|_| ())
            }).err(),
        };
        let found = found.expect("an error");
        prop_assert!(matches!(found.cause, Cause::Damaged(_)) && found.path == path, "{}", found);
    }
}

#[test]
fn golden_text_is_aligned_whole_numbers() {
    let mut summary = record().summary;
    summary.queues.truncate(1);
    summary.groups.truncate(1);
    // Packet i leaves at 3i ms after 300 + i µs, and every tenth is marked. After the warm-up
    // those are 334..=599: 266 packets, 26 of them marked (97,744 ppm); mean 300 + 466.5 µs; rank
    // ceil(0.5 · 266) = 133 is packet 466, 766 µs, which is in the bucket of 768 µs. The link carried as
    // many packets of C: 532 · 1514 B · 8 / 12 Mb = 0.536965.
    let text = golden([&summary]);
    let expected = "\
run 0: test, sim, seed 7, link.rate = 12mbit, group.A.flows = 1
link    bps 12000000  used_ppm 536965
queue       packets    mean_us         p1        p25        p50        p75        p99       p999        max
L               266        766        637        698        768        834        895        899        899
queue      mark_ppm   drop_ppm       step    coupled    classic   overload        aqm      limit     memory
L             97744          0         26          0          0          0          0          0          0
";
    assert!(text.starts_with(expected), "{text}");
    assert!(
        !text.contains('.') || text.matches('.').count() == 5,
        "only names have points: {text}"
    );
}

fn series_row() -> impl Strategy<Value = SeriesRow> {
    let number = || proptest::option::of(any::<f64>().prop_filter("NaN", |x| x.is_finite()));
    let count = || proptest::option::of(any::<u64>());
    (
        (0.0..1e6_f64, 0..4_usize, ".{0,8}"),
        (number(), number(), number(), count(), number(), number()),
        (count(), number(), count(), count(), number(), number()),
    )
        .prop_map(|((time_s, scope, name), a, b)| SeriesRow {
            time_s,
            scope: Scope::ALL[scope],
            name,
            rate_bps: a.0,
            goodput_bps: a.5,
            delay_mean_ms: a.1,
            delay_max_ms: a.2,
            packets: a.3,
            mark: a.4,
            drop: a.5,
            drops: a.3,
            backlog_packets: b.0,
            p_base: b.1,
            cwnd_pkts: b.2,
            ssthresh_pkts: b.3,
            srtt_ms: b.4,
            alpha: b.5,
            classic_ecn: b.5,
            fbk_srtt_ms: b.4,
            fbk_mdev_ms: b.1,
            fbk_depth_ms: None,
            delivered: b.0,
            delivered_ce: None,
            retransmits: b.3,
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Any row is the same after JSON and Parquet, to the bit.
    #[test]
    fn rows_survive_every_format(rows in proptest::collection::vec(series_row(), 0..50)) {
        let folder = tempfile::tempdir().unwrap();
        let record = RunRecord { series: rows, ..record() };
        let json = serde_json::to_string(&record).unwrap();
        prop_assert_eq!(&serde_json::from_str::<RunRecord>(&json).unwrap(), &record);
        write(folder.path(), std::slice::from_ref(&record));
        prop_assert_eq!(&read(folder.path())[0], &reproducible(&record));
    }
}

/// Tables of an earlier version have fewer columns: an optional column may be absent, a required one may not.
#[test]
fn a_column_that_an_earlier_version_had_not_is_absent() {
    let row = SeriesRow { rate_bps: Some(1e6), goodput_bps: Some(9e5), ..SeriesRow::default() };
    let (fields, columns) = (SeriesRow::fields(), SeriesRow::columns(std::slice::from_ref(&row)));
    let without = |name: &str| {
        let kept = fields.iter().zip(&columns).filter(|(field, _)| field.name() != name);
        let kept = kept.map(|(field, column)| (field.name(), column.clone(), field.is_nullable()));
        SeriesRow::read(&RecordBatch::try_from_iter_with_nullable(kept).unwrap(), 0..1)
    };
    assert_eq!(without("goodput_bps").unwrap(), [SeriesRow { goodput_bps: None, ..row }]);
    assert!(without("time_s").unwrap_err().to_string().contains("time_s"));
}

#[test]
fn every_table_has_documented_columns() {
    // Other programs read these names: a change here breaks them.
    let names = |fields: Vec<arrow_schema::Field>| {
        fields.iter().map(|f| f.name().clone()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(
        names(SeriesRow::fields()),
        "time_s scope name rate_bps goodput_bps delay_mean_ms delay_max_ms packets mark drop \
         drops backlog_packets p_base cwnd_pkts ssthresh_pkts srtt_ms alpha classic_ecn fbk_srtt_ms \
         fbk_mdev_ms fbk_depth_ms delivered delivered_ce retransmits"
    );
    assert_eq!(names(DelayRow::fields()), "scope name low_ms high_ms count");
    assert_eq!(
        names(FlowRow::fields()),
        "group flow start_s end_s size bytes rate_bps completion_ms retransmits \
         classic_ecn classic_ecn_max classic_ecn_rounds protocol client server not_ect ect0 ect1 \
         marks drops delay_mean_ms delay_p99_ms handshake_ms rtt_mean_ms"
    );
}

#[test]
fn hops_are_counted_as_the_bottleneck_is_and_have_columns() {
    let mut scenario = scenario();
    let (link, aqm) = (scenario.link.clone(), scenario.aqm.clone());
    scenario.hops = vec![Hop {
        name: "H".to_owned(),
        side: Side::Behind,
        link,
        aqm,
        sources: vec![0, 2],
        per: Per::Group,
    }];
    let mut r = recorder(&scenario);
    let departed = |delay| HopEvent::Departed(ms(delay));
    // Before the end of the warm-up nothing counts. After it one of four packets arrived as CE.
    r.at_hop(0, &packet(0, 0), Queue::L, departed(7), at(900));
    let state = LinkState { packets: 0, bytes: Bytes::ZERO, owed: Bytes::ZERO, base: None };
    Observer::<Packet>::sample_link(&mut r, state, at(1000));
    for (n, delay) in [1, 2, 3, 6].into_iter().enumerate() {
        let (ecn, arrived_ce) = if n < 2 { (Ecn::Ce, n == 0) } else { (Ecn::Ect1, false) };
        r.at_hop(
            0,
            &Packet { ecn, arrived_ce, ..packet(0, 0) },
            Queue::L,
            departed(delay),
            at(1500),
        );
    }
    r.at_hop(0, &packet(0, 0), Queue::C, HopEvent::Dropped(DropCause::Aqm), at(1600));
    let record = r.finish(engine());
    let [hop] = &record.summary.hops[..] else { panic!("one hop") };
    assert_eq!((hop.name.as_str(), hop.links), ("H", 2));
    // 4 · 1514 B · 8 in a second, on two links of 12 Mb/s.
    assert!((hop.utilization.unwrap() - 48_448.0 / 24e6).abs() < 1e-12);
    let [l, c] = &hop.queues[..] else { panic!("L and C") };
    assert_eq!((l.packets, l.mark, l.delay_ms.unwrap().mean), (4, Some(0.25), 3.0));
    assert_eq!((c.packets, c.drop), (0, Some(1.0)));
    // The bottleneck forwarded none of them.
    assert!(record.summary.queues.iter().all(|queue| queue.packets == 0));
    // The series includes the warm-up: 1500 B in the first second. The histograms do not.
    let row = record.series.iter().find(|row| row.name == "H.L").unwrap();
    assert_eq!((row.scope, row.rate_bps, row.delay_mean_ms), (Scope::Hop, Some(12e3), Some(7.0)));
    let delays = record.delays.iter().filter(|row| row.name == "H.L");
    assert_eq!(delays.map(|row| row.count).sum::<u64>(), 4);

    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), std::slice::from_ref(&record));
    assert_eq!(read(folder.path()), [reproducible(&record)]);
    let file = fs::File::open(folder.path().join("runs.parquet")).unwrap();
    let table = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    for column in ["hop_H_links", "hop_H_utilization", "hop_H_queue_L_delay_mean_ms"] {
        assert!(table.schema().field_with_name(column).is_ok(), "{column}");
    }
}
