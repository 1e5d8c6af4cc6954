//! Tests code that is generated while a session runs.

mod common;

use common::started;
use hbbp::{CodeRegion, DataRegion, Event, ModuleKind, SessionOptions, SourceKind, Status};
use std::os::raw::{c_int, c_long, c_void};

extern "C" {
    fn mmap(
        at: *mut c_void,
        size: usize,
        may: c_int,
        kind: c_int,
        file: c_int,
        from: c_long,
    ) -> *mut c_void;
    fn munmap(at: *mut c_void, size: usize) -> c_int;
}

const SIZE: usize = 4096;
const READ_WRITE_EXEC: c_int = 7;
const PRIVATE_ANONYMOUS: c_int = 0x22;

/// Counts up to its argument: xor eax, eax; 2: inc rax; cmp rax, rdi; jne 2; ret
const CODE: [u8; 11] = [
    0x31, 0xc0, 0x48, 0xff, 0xc0, 0x48, 0x39, 0xf8, 0x75, 0xf8, 0xc3,
];

#[test]
fn generated_code_has_blocks_and_a_name() {
    let mut session = match started(
        SessionOptions::new()
            .source(SourceKind::Ebs)
            .event(Event::TaskClock)
            .period(200_000),
    ) {
        Some(session) => session,
        None => return,
    };
    let memory = unsafe {
        mmap(
            std::ptr::null_mut(),
            SIZE,
            READ_WRITE_EXEC,
            PRIVATE_ANONYMOUS,
            -1,
            0,
        )
    };
    if memory as isize == -1 {
        eprintln!("SKIPPED: no memory may be written and executed here");
        return;
    }
    unsafe { memory.cast::<[u8; CODE.len()]>().write(CODE) };
    let code = unsafe { std::slice::from_raw_parts(memory.cast::<u8>(), CODE.len()) };
    session
        .add_code(&CodeRegion::of(code).name("counts_up"))
        .unwrap();
    let count_up: extern "C" fn(u64) -> u64 = unsafe { std::mem::transmute(memory) };
    assert_eq!(count_up(400_000_000), 400_000_000);
    session.stop().unwrap();
    let profile = session.snapshot().unwrap();
    assert_eq!(unsafe { munmap(memory, SIZE) }, 0);

    let analysis = profile.analyze().unwrap();
    let functions = analysis.functions().unwrap();
    let index = functions
        .iter()
        .position(|function| function.name == "counts_up")
        .unwrap();
    let function = &functions[index];
    assert_eq!(
        profile.modules().unwrap()[function.module].kind,
        ModuleKind::Anonymous
    );
    let blocks = analysis.blocks().unwrap();
    let busiest = blocks
        .iter()
        .filter(|block| block.function == Some(index))
        .max_by(|left, right| left.count.total_cmp(&right.count))
        .unwrap();
    assert_eq!(
        (busiest.start - function.start, busiest.instruction_count),
        (2, 3)
    );
    let text: Vec<_> = analysis
        .disassembly(busiest.module, busiest.start..busiest.end)
        .map(|instruction| instruction.unwrap().text)
        .collect();
    assert_eq!(text[..2], ["inc rax", "cmp rax, rdi"]);
}

#[test]
fn regions_that_cannot_be_are_refused() {
    let session = hbbp::Session::new().unwrap();
    let table = [0u64; 16];
    let block = DataRegion::of(&table).name("table");
    session.add_data(&block).unwrap();
    session.add_data(&DataRegion::of(&table)).unwrap();
    let nothing = session.add_data(&DataRegion::new(8, 0)).unwrap_err();
    assert_eq!(nothing.status(), Status::InvalidArgument);
    let empty = session.add_code(&CodeRegion::of(&[])).unwrap_err();
    assert_eq!(empty.status(), Status::InvalidArgument);
    let unreadable = session.add_code(&CodeRegion::new(8, 100)).unwrap_err();
    assert_eq!(unreadable.status(), Status::NotFound);
    let endless = session
        .add_code(&CodeRegion::at(u64::MAX - 1, &CODE))
        .unwrap_err();
    assert_eq!(endless.status(), Status::InvalidArgument);
}
