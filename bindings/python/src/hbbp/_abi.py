"""The C ABI of libhbbp, made by generate_abi.py from include/hbbp/*.h: run that instead of editing.
"""
# flake8: noqa
from ctypes import (CFUNCTYPE, POINTER, Structure, c_char, c_char_p, c_double, c_int32, c_size_t,
                    c_uint8, c_uint32, c_uint64, c_void_p)
from typing import Any, Dict, Tuple

from ._choice import Choice, Flags

HBBP_ABI_VERSION = 1
HBBP_BIAS_CHANCE = 1e-06
HBBP_BIAS_RATIO = 2.0
HBBP_FEED_ALL = 18446744073709551615
HBBP_FEED_KERNEL_PID = 4294967295
HBBP_MAX_BURST_BRANCHES = 65536
HBBP_MAX_DATA_BLOCKS = 65536
HBBP_MAX_DATA_NAMES = 16384
HBBP_MAX_FEED_BRANCHES = 65536
HBBP_MAX_IBS_REGISTERS = 32
HBBP_MAX_PROBE_COUNTER = 4611686018427387904
HBBP_MAX_PROBE_FIELDS = 4
HBBP_MAX_SLICES = 1024
HBBP_MAX_SLICE_NS = 1000000000000000
HBBP_MIN_KEPT_BURST_BYTES = 65536
HBBP_MIN_MEMORY = 1048576
HBBP_MIN_SLICE_NS = 1000000
HBBP_NO_ADDRESS = 18446744073709551615
HBBP_NO_INDEX = 4294967295
HBBP_PIVOT_ALL = 18446744073709551615
HBBP_VERSION_MAJOR = 0
HBBP_VERSION_MINOR = 1
HBBP_VERSION_PATCH = 0
HBBP_VERSION_STRING = '0.1.0'
HBBP_MERGER_DROP_THREADS = 1
HBBP_MERGER_DROP_SLICES = 2
HBBP_SELECT_THREAD = 1
HBBP_SELECT_SLICE = 2
HBBP_DEBUG_USE_DEBUGINFOD = 1
HBBP_BLOCK_BIASED = 1
HBBP_VALUE_DIVISOR = 1
HBBP_VALUE_RDI = 2
HBBP_VALUE_RSI = 4
HBBP_VALUE_RDX = 8
HBBP_VALUE_RCX = 16
HBBP_VALUE_R8 = 32
HBBP_VALUE_R9 = 64
HBBP_LOOP_IRREDUCIBLE = 1


class Estimator(Choice):
    AUTO = 0
    EBS = 1
    STREAMS = 2
    TREE = 3
    FLOW = 4


class Status(Choice):
    OK = 0
    ERROR_INVALID_ARGUMENT = -1
    ERROR_INVALID_STATE = -2
    ERROR_NO_MEMORY = -3
    ERROR_NOT_FOUND = -4
    ERROR_IO = -5
    ERROR_BAD_FORMAT = -6
    ERROR_UNSUPPORTED = -7
    ERROR_PERMISSION = -8
    ERROR_BUSY = -9
    ERROR_VERSION = -10
    ERROR_MISMATCH = -11
    ERROR_INTERNAL = -12
    ERROR_CANCELLED = -13


class LogLevel(Choice):
    ERROR = 1
    WARNING = 2
    INFO = 3
    DEBUG = 4


class SourceKind(Choice):
    NONE = 0
    EBS = 1
    LBR = 2
    IBS = 3
    SWBT = 4
    TRUTH = 5
    AUTO = 6
    EBS_AND_SWBT = 7
    COMBINED = 8
    EXTERNAL = 9
    PERF = 10


class Event(Choice):
    AUTO = 0
    TASK_CLOCK = 1
    CPU_CLOCK = 2
    INSTRUCTIONS = 3
    CYCLES = 4
    TAKEN_BRANCHES = 5
    OTHER = 6
    UOPS = 7


class PeriodMode(Choice):
    PRIME = 0
    FIXED = 1
    RANDOM = 2
    BY_FREQUENCY = 3


class TraceMode(Choice):
    LOOKAHEAD = 0
    BREAKPOINT = 1
    VERIFY = 2


class ModuleKind(Choice):
    FILE = 0
    VDSO = 1
    ANONYMOUS = 2
    KERNEL = 3


class Unit(Choice):
    INSTRUCTIONS = 0
    NANOSECONDS = 1
    CYCLES = 2
    TAKEN_BRANCHES = 3
    EVENTS = 4
    UOPS = 5


class EbsMethod(Choice):
    AUTO = 0
    PLAIN = 1
    IP_PLUS_ONE = 2


class CodeState(Choice):
    FILE = 0
    PROFILE = 1
    MISSING = 2
    MISMATCH = 3
    NOT_SOUGHT = 4
    CORE = 5


class Order(Choice):
    INSTRUCTIONS = 0
    EXECUTIONS = 1
    SAMPLES = 2


class CapabilityState(Choice):
    UNKNOWN = 0
    SUPPORTED = 1
    MISSING = 2
    DENIED = 3


class Flow(Choice):
    NEXT = 0
    CONDITIONAL = 1
    JUMP = 2
    INDIRECT_JUMP = 3
    CALL = 4
    INDIRECT_CALL = 5
    RETURN = 6
    SYSTEM = 7
    TRAP = 8


class FeedOrder(Choice):
    BY_TIME = 0
    AS_ADDED = 1


class IbsKind(Choice):
    NONE = 0
    OP = 1
    FETCH = 2


class FeedEventKind(Choice):
    MAPPING = 1
    CODE = 2
    EXEC = 3
    FORK = 4
    EXIT = 5
    THREAD_NAME = 6
    BUILD_ID = 7
    LOST = 8
    THROTTLED = 9
    DATA = 10


class IbsObjectKind(Choice):
    SYMBOL = 1
    SECTION = 2
    BLOCK = 3
    OTHER = 4


class TripBasis(Choice):
    UNKNOWN = 0
    BY_BRANCHES = 1
    BY_COUNTS = 2


class MixKeys(Flags):
    MNEMONIC = 1
    MODULE = 2
    FUNCTION = 4
    THREAD = 8
    SLICE = 16


class PivotAxis(Choice):
    ROWS = 0
    COLUMNS = 1


class LabelKind(Choice):
    TEXT = 0
    NUMBER = 1
    ADDRESS = 2


class ProbeAnswer(Choice):
    GO_ON = 0
    STOP_BURST = 1


class ProbeTableKind(Choice):
    COUNTS = 0
    TRACE = 1
    CALLS = 2


class ProbeFieldKind(Choice):
    NUMBER = 0
    CODE = 1
    SIGNED = 2
    PATH = 3
    REUSE = 4


class hbbp_cancel(Structure):
    pass


class hbbp_profile(Structure):
    pass


class hbbp_merger(Structure):
    pass


class hbbp_analysis(Structure):
    pass


class hbbp_capabilities(Structure):
    pass


class hbbp_session(Structure):
    pass


class hbbp_feed(Structure):
    pass


class hbbp_loops(Structure):
    pass


class hbbp_mix(Structure):
    pass


class hbbp_taxonomy(Structure):
    pass


class hbbp_pivot(Structure):
    pass


class hbbp_ratios(Structure):
    pass


class hbbp_probe(Structure):
    pass


class hbbp_error(Structure):
    _fields_ = [
        ('struct_size', c_uint32),
        ('status', c_int32),
        ('message', c_char * 1024),
    ]


class hbbp_work_options(Structure):
    _fields_ = [
        ('struct_size', c_uint32),
        ('reserved', c_uint32),
        ('progress', CFUNCTYPE(None, c_uint64, c_uint64, c_void_p)),
        ('user_data', c_void_p),
        ('cancel', POINTER(hbbp_cancel)),
    ]


class hbbp_allocator(Structure):
    _fields_ = [
        ('struct_size', c_uint32),
        ('reserved', c_uint32),
        ('allocate', CFUNCTYPE(c_void_p, c_size_t, c_size_t, c_void_p)),
        ('deallocate', CFUNCTYPE(None, c_void_p, c_size_t, c_size_t, c_void_p)),
        ('user_data', c_void_p),
    ]


class hbbp_module(Structure):
    _fields_ = [
        ('struct_size', c_uint32),
        ('kind', c_int32),
        ('build_id', POINTER(c_uint8)),
        ('build_id_size', c_uint32),
        ('reserved', c_uint32),
        ('path', c_char_p),
        ('samples', c_uint64),
    ]


class hbbp_thread(Structure):
    _fields_ = [
        ('struct_size', c_uint32),
        ('pid', c_uint32),
        ('tid', c_uint32),
        ('reserved', c_uint32),
        ('name', c_char_p),
        ('samples', c_uint64),
    ]


class hbbp_source_info(Structure):
    _fields_ = [
        ('struct_size', c_uint32),
        ('kind', c_int32),
        ('event', c_int32),
        ('period_mode', c_int32),
        ('unit', c_int32),
        ('include_kernel', c_uint32),
        ('period', c_uint64),
        ('frequency_hz', c_uint64),
        ('samples', c_uint64),
        ('lost', c_uint64),
        ('throttled', c_uint64),
        ('unmapped', c_uint64),
        ('note', c_char_p),
        ('bursts', c_uint64),
        ('taken_branches', c_uint64),
        ('breakpoints', c_uint64),
        ('lookahead_instructions', c_uint64),
        ('decoded_instructions', c_uint64),
        ('handler_ns', c_uint64),
        ('verified_branches', c_uint64),
        ('disagreements', c_uint64),
        ('mode', c_char_p),
        ('method', c_char_p),
        ('event_name', c_char_p),
        ('precise_ip', c_uint32),
        ('ebs_method', c_int32),
        ('smallest_period', c_uint64),
        ('largest_period', c_uint64),
        ('extent_in_events', c_uint32),
        ('reserved', c_uint32),
    ]


class hbbp_counter(Structure):
    _fields_ = [
        ('struct_size', c_uint32),
        ('reserved', c_uint32),
        ('name', c_char_p),
        ('value', c_uint64),
    ]


class hbbp_profile_info(Structure):
    _fields_ = [
        ('struct_size', c_uint32),
        ('pid', c_uint32),
        ('start_time_ns', c_uint64),
        ('duration_ns', c_uint64),
        ('command', c_char_p),
        ('host', c_char_p),
        ('samples', c_uint64),
        ('lost', c_uint64),
        ('throttled', c_uint64),
        ('unmapped', c_uint64),
        ('recordings', c_uint64),
        ('kept_bursts', c_uint64),
        ('bursts_not_kept', c_uint64),
    ]


class hbbp_merger_options(Structure):
    _fields_ = [
        ('struct_size', c_uint32),
        ('dropped', c_uint32),
    ]


class hbbp_selection(Structure):
    _fields_ = [
        ('struct_size', c_uint32),
        ('parts', c_uint32),
        ('tid', c_uint32),
        ('slice', c_uint32),
    ]


class hbbp_slice(Structure):
    _fields_ = [
        ('struct_size', c_uint32),
        ('reserved', c_uint32),
        ('start_ns', c_uint64),
        ('end_ns', c_uint64),
        ('samples', c_uint64),
    ]


class hbbp_moved_file(Structure):
    _fields_ = [
        ('recorded', c_char_p),
        ('here', c_char_p),
    ]


class hbbp_import_options(Structure):
    _fields_ = [
        ('struct_size', c_uint32),
        ('moved_file_count', c_uint32),
        ('root', c_char_p),
        ('moved_files', POINTER(hbbp_moved_file)),
        ('binary', c_char_p),
        ('ebs_method', c_int32),
        ('reserved', c_uint32),
        ('slice_ns', c_uint64),
        ('log', CFUNCTYPE(None, c_int32, c_char_p, c_void_p)),
        ('log_user_data', c_void_p),
        ('log_level', c_int32),
        ('reserved2', c_uint32),
        ('max_memory', c_uint64),
        ('allocator', POINTER(hbbp_allocator)),
        ('kept_burst_bytes', c_uint64),
    ]


class hbbp_debug_options(Structure):
    _fields_ = [
        ('struct_size', c_uint32),
        ('flags', c_uint32),
        ('debug_root', c_char_p),
        ('memory_limit', c_uint64),
        ('progress', CFUNCTYPE(None, c_char_p, c_uint64, c_uint64, c_void_p)),
        ('user_data', c_void_p),
        ('cancel', POINTER(hbbp_cancel)),
    ]


class hbbp_line_frame(Structure):
    _fields_ = [
        ('struct_size', c_uint32),
        ('line', c_uint32),
        ('column', c_uint32),
        ('discriminator', c_uint32),
        ('file', c_char_p),
        ('function', c_char_p),
        ('function_line', c_uint32),
        ('reserved', c_uint32),
    ]


class hbbp_line_range(Structure):
    _fields_ = [
        ('struct_size', c_uint32),
        ('frame_count', c_uint32),
        ('start', c_uint64),
        ('end', c_uint64),
    ]


class hbbp_kernel_files(Structure):
    _fields_ = [
        ('struct_size', c_uint32),
        ('reserved', c_uint32),
        ('vmlinux', c_char_p),
        ('kcore', c_char_p),
        ('kallsyms', c_char_p),
    ]


class hbbp_analysis_options(Structure):
    _fields_ = [
        ('struct_size', c_uint32),
        ('estimator', c_int32),
        ('tree', c_char_p),
        ('kernel', POINTER(hbbp_kernel_files)),
        ('debug', POINTER(hbbp_debug_options)),
        ('event', c_char_p),
        ('root', c_char_p),
        ('moved_files', POINTER(hbbp_moved_file)),
        ('moved_file_count', c_uint32),
        ('reserved', c_uint32),
    ]


class hbbp_analysis_info(Structure):
    _fields_ = [
        ('struct_size', c_uint32),
        ('estimator', c_int32),
        ('ebs_scale', c_double),
        ('streams_scale', c_double),
        ('is_one_scale', c_uint32),
        ('reserved', c_uint32),
    ]


class hbbp_source_result(Structure):
    _fields_ = [
        ('struct_size', c_uint32),
        ('reserved', c_uint32),
        ('unexplained', c_uint64),
        ('superseded', c_uint64),
        ('is_other_event', c_uint32),
        ('reserved2', c_uint32),
    ]


class hbbp_module_result(Structure):
    _fields_ = [
        ('struct_size', c_uint32),
        ('code', c_int32),
        ('problem', c_char_p),
        ('patched_bytes', c_uint64),
    ]


class hbbp_block(Structure):
    _fields_ = [
        ('struct_size', c_uint32),
        ('module', c_uint32),
        ('start', c_uint64),
        ('end', c_uint64),
        ('instruction_count', c_uint32),
        ('function', c_uint32),
        ('source', c_int32),
        ('flags', c_uint32),
        ('count', c_double),
        ('standard_error', c_double),
        ('samples', c_uint64),
        ('bias_ratio', c_double),
        ('bias_chance', c_double),
    ]


class hbbp_function(Structure):
    _fields_ = [
        ('struct_size', c_uint32),
        ('module', c_uint32),
        ('start', c_uint64),
        ('end', c_uint64),
        ('name', c_char_p),
        ('instructions', c_double),
        ('standard_error', c_double),
        ('samples', c_uint64),
        ('demangled_name', c_char_p),
    ]


class hbbp_branch(Structure):
    _fields_ = [
        ('struct_size', c_uint32),
        ('from_module', c_uint32),
        ('from', c_uint64),
        ('to', c_uint64),
        ('to_module', c_uint32),
        ('reserved', c_uint32),
        ('samples', c_uint64),
        ('count', c_double),
        ('oldest', c_uint64),
        ('oldest_expected', c_double),
    ]


class hbbp_ip_sum(Structure):
    _fields_ = [
        ('struct_size', c_uint32),
        ('module', c_uint32),
        ('function', c_uint32),
        ('source', c_uint32),
        ('address', c_uint64),
        ('samples', c_uint64),
    ]


class hbbp_capability(Structure):
    _fields_ = [
        ('struct_size', c_uint32),
        ('state', c_int32),
        ('name', c_char_p),
        ('detail', c_char_p),
        ('advice', c_char_p),
    ]


class hbbp_event_code(Structure):
    _fields_ = [
        ('struct_size', c_uint32),
        ('event', c_int32),
        ('type', c_uint64),
        ('config', c_uint64),
    ]


class hbbp_instruction(Structure):
    _fields_ = [
        ('struct_size', c_uint32),
        ('length', c_uint32),
        ('address', c_uint64),
        ('mnemonic', c_char_p),
    ]


class hbbp_disassembly(Structure):
    _fields_ = [
        ('struct_size', c_uint32),
        ('length', c_uint32),
        ('address', c_uint64),
        ('target', c_uint64),
        ('flow', c_int32),
        ('reserved', c_uint32),
        ('text', c_char * 160),
    ]


class hbbp_session_options(Structure):
    _fields_ = [
        ('struct_size', c_uint32),
        ('source', c_int32),
        ('event', c_int32),
        ('period_mode', c_int32),
        ('period', c_uint64),
        ('frequency_hz', c_uint64),
        ('include_kernel', c_uint32),
        ('buffer_bytes', c_uint32),
        ('trace_mode', c_int32),
        ('burst_branches', c_uint32),
        ('branch_period', c_uint64),
        ('expected_seconds', c_uint64),
        ('pid', c_uint64),
        ('event_name', c_char_p),
        ('event_type', c_uint64),
        ('event_config', c_uint64),
        ('ebs_method', c_int32),
        ('imprecise', c_uint32),
        ('slice_ns', c_uint64),
        ('log', CFUNCTYPE(None, c_int32, c_char_p, c_void_p)),
        ('log_user_data', c_void_p),
        ('log_level', c_int32),
        ('thread_count', c_uint32),
        ('threads', POINTER(c_uint32)),
        ('max_overhead', c_double),
        ('max_memory', c_uint64),
        ('allocator', POINTER(hbbp_allocator)),
        ('drained_by_host', c_uint32),
        ('keep_accesses', c_uint32),
        ('kept_burst_bytes', c_uint64),
        ('keep_values', c_uint32),
        ('enable_on_exec', c_uint32),
    ]


class hbbp_session_info(Structure):
    _fields_ = [
        ('struct_size', c_uint32),
        ('running', c_uint32),
        ('samples', c_uint64),
        ('lost', c_uint64),
        ('throttled', c_uint64),
        ('duration_ns', c_uint64),
        ('dropped', c_uint64),
        ('cpu_ns', c_uint64),
        ('overhead_ns', c_uint64),
        ('recent_overhead', c_double),
        ('period_factor', c_double),
        ('period_changes', c_uint64),
        ('memory_bytes', c_uint64),
        ('peak_memory_bytes', c_uint64),
    ]


class hbbp_data_region(Structure):
    _fields_ = [
        ('struct_size', c_uint32),
        ('reserved', c_uint32),
        ('address', c_uint64),
        ('size', c_uint64),
        ('name', c_char_p),
        ('time_ns', c_uint64),
    ]


class hbbp_feed_options(Structure):
    _fields_ = [
        ('struct_size', c_uint32),
        ('order', c_int32),
        ('max_waiting_bytes', c_uint64),
        ('command', c_char_p),
        ('host', c_char_p),
        ('cpu_id', c_char_p),
        ('root', c_char_p),
        ('moved_files', POINTER(hbbp_moved_file)),
        ('moved_file_count', c_size_t),
        ('slice_ns', c_uint64),
        ('log', CFUNCTYPE(None, c_int32, c_char_p, c_void_p)),
        ('log_user_data', c_void_p),
        ('log_level', c_int32),
        ('reserved', c_uint32),
        ('max_memory', c_uint64),
        ('allocator', POINTER(hbbp_allocator)),
        ('kept_burst_bytes', c_uint64),
    ]


class hbbp_feed_source(Structure):
    _fields_ = [
        ('struct_size', c_uint32),
        ('perf_attr_size', c_uint32),
        ('perf_attr', c_void_p),
        ('perf_ids', POINTER(c_uint64)),
        ('perf_id_count', c_size_t),
        ('event_name', c_char_p),
        ('kind', c_int32),
        ('event', c_int32),
        ('ibs', c_int32),
        ('include_kernel', c_uint32),
        ('period', c_uint64),
        ('frequency_hz', c_uint64),
    ]


class hbbp_branch_entry(Structure):
    _fields_ = [
        ('from', c_uint64),
        ('to', c_uint64),
        ('flags', c_uint64),
    ]


class hbbp_feed_sample(Structure):
    _fields_ = [
        ('time_ns', c_uint64),
        ('ip', c_uint64),
        ('period', c_uint64),
        ('extent', c_uint64),
        ('pid', c_uint32),
        ('tid', c_uint32),
        ('branches', POINTER(hbbp_branch_entry)),
        ('branch_count', c_uint32),
        ('ibs_register_count', c_uint32),
        ('ibs_registers', POINTER(c_uint64)),
        ('ibs_capabilities', c_uint32),
        ('reserved', c_uint32),
    ]


class hbbp_feed_event(Structure):
    _fields_ = [
        ('kind', c_int32),
        ('pid', c_uint32),
        ('tid', c_uint32),
        ('parent_pid', c_uint32),
        ('parent_tid', c_uint32),
        ('source', c_uint32),
        ('time_ns', c_uint64),
        ('address', c_uint64),
        ('size', c_uint64),
        ('file_offset', c_uint64),
        ('device', c_uint64),
        ('inode', c_uint64),
        ('count', c_uint64),
        ('name', c_char_p),
        ('build_id', POINTER(c_uint8)),
        ('code', POINTER(c_uint8)),
        ('build_id_size', c_uint32),
        ('reserved', c_uint32),
    ]


class hbbp_feed_info(Structure):
    _fields_ = [
        ('struct_size', c_uint32),
        ('reserved', c_uint32),
        ('samples', c_uint64),
        ('lost', c_uint64),
        ('throttled', c_uint64),
        ('duration_ns', c_uint64),
        ('waiting', c_uint64),
        ('dropped', c_uint64),
        ('memory_bytes', c_uint64),
        ('peak_memory_bytes', c_uint64),
    ]


class hbbp_export_format(Structure):
    _fields_ = [
        ('struct_size', c_uint32),
        ('is_of_one_module', c_uint32),
        ('name', c_char_p),
        ('summary', c_char_p),
    ]


class hbbp_export_options(Structure):
    _fields_ = [
        ('struct_size', c_uint32),
        ('reserved', c_uint32),
        ('module', c_char_p),
        ('note', CFUNCTYPE(None, c_char_p, c_void_p)),
        ('user_data', c_void_p),
    ]


class hbbp_ibs_sum(Structure):
    _fields_ = [
        ('struct_size', c_uint32),
        ('module', c_uint32),
        ('function', c_uint32),
        ('reserved', c_uint32),
        ('event', c_char_p),
        ('address', c_uint64),
        ('sum', c_uint64),
    ]


class hbbp_ibs_bucket(Structure):
    _fields_ = [
        ('struct_size', c_uint32),
        ('reserved', c_uint32),
        ('latency', c_char_p),
        ('first_cycles', c_uint64),
        ('end_cycles', c_uint64),
        ('samples', c_uint64),
    ]


class hbbp_ibs_latency(Structure):
    _fields_ = [
        ('struct_size', c_uint32),
        ('module', c_uint32),
        ('function', c_uint32),
        ('reserved', c_uint32),
        ('level', c_char_p),
        ('address', c_uint64),
        ('first_cycles', c_uint64),
        ('end_cycles', c_uint64),
        ('samples', c_uint64),
    ]


class hbbp_ibs_line(Structure):
    _fields_ = [
        ('struct_size', c_uint32),
        ('pid', c_uint32),
        ('tid', c_uint32),
        ('node', c_uint32),
        ('address', c_uint64),
        ('loads', c_uint64),
        ('stores', c_uint64),
        ('misses', c_uint64),
        ('miss_cycles', c_uint64),
        ('local', c_uint64),
        ('remote', c_uint64),
    ]


class hbbp_ibs_object(Structure):
    _fields_ = [
        ('struct_size', c_uint32),
        ('module', c_uint32),
        ('kind', c_int32),
        ('threads', c_uint32),
        ('name', c_char_p),
        ('address', c_uint64),
        ('size', c_uint64),
        ('loads', c_uint64),
        ('stores', c_uint64),
        ('misses', c_uint64),
        ('miss_cycles', c_uint64),
        ('local', c_uint64),
        ('remote', c_uint64),
    ]


class hbbp_code_region(Structure):
    _fields_ = [
        ('struct_size', c_uint32),
        ('reserved', c_uint32),
        ('address', c_uint64),
        ('size', c_uint64),
        ('code', c_void_p),
        ('name', c_char_p),
        ('time_ns', c_uint64),
    ]


class hbbp_loop(Structure):
    _fields_ = [
        ('struct_size', c_uint32),
        ('module', c_uint32),
        ('function', c_uint32),
        ('parent', c_uint32),
        ('depth', c_uint32),
        ('flags', c_uint32),
        ('blocks', c_uint32),
        ('trip_basis', c_int32),
        ('header', c_uint64),
        ('entries', c_double),
        ('entries_error', c_double),
        ('iterations', c_double),
        ('iterations_error', c_double),
        ('trip_count', c_double),
        ('trip_count_error', c_double),
        ('trip_count_by_branches', c_double),
        ('trip_count_by_branches_error', c_double),
        ('trip_count_by_counts', c_double),
        ('trip_count_by_counts_error', c_double),
        ('instructions', c_double),
        ('instructions_error', c_double),
        ('own_instructions', c_double),
        ('own_instructions_error', c_double),
    ]


class hbbp_mix_row(Structure):
    _fields_ = [
        ('struct_size', c_uint32),
        ('module', c_uint32),
        ('function', c_uint32),
        ('thread', c_uint32),
        ('mnemonic', c_char_p),
        ('instructions', c_double),
        ('standard_error', c_double),
        ('share', c_double),
        ('slice', c_uint32),
        ('reserved', c_uint32),
    ]


class hbbp_pivot_query(Structure):
    _fields_ = [
        ('struct_size', c_uint32),
        ('join_names', c_uint32),
        ('rows', c_char_p),
        ('columns', c_char_p),
        ('values', c_char_p),
        ('where', c_char_p),
        ('sort', c_char_p),
        ('top', c_uint64),
        ('taxonomy', POINTER(hbbp_taxonomy)),
    ]


class hbbp_pivot_label(Structure):
    _fields_ = [
        ('struct_size', c_uint32),
        ('kind', c_int32),
        ('text', c_char_p),
        ('number', c_uint64),
        ('index', c_uint32),
        ('reserved', c_uint32),
    ]


class hbbp_pivot_cell(Structure):
    _fields_ = [
        ('struct_size', c_uint32),
        ('reserved', c_uint32),
        ('value', c_double),
        ('standard_error', c_double),
        ('share', c_double),
        ('share_error', c_double),
    ]


class hbbp_ratio(Structure):
    _fields_ = [
        ('struct_size', c_uint32),
        ('is_known', c_uint32),
        ('group', c_char_p),
        ('name', c_char_p),
        ('value', c_double),
        ('unit', c_char_p),
        ('standard_error', c_double),
    ]


class hbbp_probe_call(Structure):
    _fields_ = [
        ('struct_size', c_uint32),
        ('production', c_uint32),
        ('table', c_uint32),
        ('thread', c_uint32),
        ('pc', c_uint64),
        ('target', c_uint64),
        ('next', c_uint64),
        ('flow', c_int32),
        ('taken', c_uint32),
        ('value_count', c_uint32),
        ('unknown', c_uint32),
        ('values', c_uint64 * 4),
        ('burst', c_uint64),
        ('time_ns', c_uint64),
        ('weight', c_double),
    ]


class hbbp_probe_options(Structure):
    _fields_ = [
        ('struct_size', c_uint32),
        ('is_exhaustive', c_uint32),
        ('productions', c_char_p),
        ('taxonomy', POINTER(hbbp_taxonomy)),
        ('sample_freq', c_uint64),
        ('burst_length', c_uint64),
        ('max_rows', c_uint64),
        ('max_symbols', c_uint64),
        ('min_stream_length', c_uint64),
        ('max_stream_length', c_uint64),
        ('min_stream_heat', c_double),
        ('handler', CFUNCTYPE(c_int32, POINTER(hbbp_probe_call), c_void_p)),
        ('user_data', c_void_p),
    ]


class hbbp_probe_info(Structure):
    _fields_ = [
        ('struct_size', c_uint32),
        ('is_exhaustive', c_uint32),
        ('sample_freq', c_uint64),
        ('burst_length', c_uint64),
        ('bursts', c_uint64),
        ('begun_bursts', c_uint64),
        ('instructions', c_uint64),
        ('streams', c_uint64),
        ('skipped_streams', c_uint64),
        ('streams_without_code', c_uint64),
        ('other_bursts', c_uint64),
        ('not_kept', c_uint64),
        ('counts_executions', c_uint32),
        ('reserved', c_uint32),
    ]


class hbbp_probe_production(Structure):
    _fields_ = [
        ('struct_size', c_uint32),
        ('reserved', c_uint32),
        ('name', c_char_p),
        ('firings', c_uint64),
    ]


class hbbp_probe_table(Structure):
    _fields_ = [
        ('struct_size', c_uint32),
        ('kind', c_int32),
        ('name', c_char_p),
        ('records', c_uint64),
        ('dropped', c_uint64),
        ('unknown', c_uint64),
        ('estimate', c_double),
    ]


class hbbp_probe_field(Structure):
    _fields_ = [
        ('struct_size', c_uint32),
        ('kind', c_int32),
        ('name', c_char_p),
    ]


class hbbp_probe_row(Structure):
    _fields_ = [
        ('struct_size', c_uint32),
        ('reserved', c_uint32),
        ('values', c_uint64 * 4),
        ('estimate', c_double),
        ('share', c_double),
        ('records', c_uint64),
    ]


class hbbp_probe_stream(Structure):
    _fields_ = [
        ('struct_size', c_uint32),
        ('field_count', c_uint32),
        ('values', POINTER(c_uint64)),
        ('length', c_uint64),
        ('frequency', c_uint64),
        ('share', c_double),
    ]


class hbbp_probe_location(Structure):
    _fields_ = [
        ('struct_size', c_uint32),
        ('module', c_uint32),
        ('path', c_char_p),
        ('address', c_uint64),
        ('function', c_uint64),
        ('name', c_char_p),
    ]


class hbbp_source_ops(Structure):
    _fields_ = [
        ('struct_size', c_uint32),
        ('reserved', c_uint32),
        ('name', c_char_p),
        ('start', CFUNCTYPE(c_int32, c_void_p, POINTER(hbbp_feed), POINTER(hbbp_error))),
        ('drain', CFUNCTYPE(c_int32, c_void_p, POINTER(hbbp_feed), POINTER(c_uint32), POINTER(hbbp_error))),
        ('stop', CFUNCTYPE(c_int32, c_void_p, POINTER(hbbp_feed), POINTER(hbbp_error))),
        ('destroy', CFUNCTYPE(None, c_void_p)),
    ]


FUNCTIONS: Dict[str, Tuple[Any, ...]] = {
    'hbbp_status_name': (c_char_p, c_int32),
    'hbbp_cancel_create': (c_int32, POINTER(POINTER(hbbp_cancel)), POINTER(hbbp_error)),
    'hbbp_cancel_destroy': (None, POINTER(hbbp_cancel)),
    'hbbp_cancel_set': (None, POINTER(hbbp_cancel), c_int32),
    'hbbp_cancel_is_set': (c_int32, POINTER(hbbp_cancel)),
    'hbbp_profile_load': (c_int32, c_char_p, POINTER(hbbp_work_options),
        POINTER(POINTER(hbbp_profile)), POINTER(hbbp_error)),
    'hbbp_profile_save': (c_int32, POINTER(hbbp_profile), c_char_p, POINTER(hbbp_work_options),
        POINTER(hbbp_error)),
    'hbbp_profile_destroy': (None, POINTER(hbbp_profile)),
    'hbbp_profile_merge': (c_int32, POINTER(POINTER(hbbp_profile)), c_size_t,
        POINTER(hbbp_work_options), POINTER(POINTER(hbbp_profile)), POINTER(hbbp_error)),
    'hbbp_merger_create': (c_int32, POINTER(hbbp_merger_options), POINTER(POINTER(hbbp_merger)),
        POINTER(hbbp_error)),
    'hbbp_merger_add': (c_int32, POINTER(hbbp_merger), POINTER(hbbp_profile),
        POINTER(hbbp_work_options), POINTER(hbbp_error)),
    'hbbp_merger_finish': (c_int32, POINTER(hbbp_merger), POINTER(hbbp_work_options),
        POINTER(POINTER(hbbp_profile)), POINTER(hbbp_error)),
    'hbbp_merger_destroy': (None, POINTER(hbbp_merger)),
    'hbbp_profile_select': (c_int32, POINTER(hbbp_profile), POINTER(hbbp_selection),
        POINTER(hbbp_work_options), POINTER(POINTER(hbbp_profile)), POINTER(hbbp_error)),
    'hbbp_profile_get_info': (c_int32, POINTER(hbbp_profile), POINTER(hbbp_profile_info),
        POINTER(hbbp_error)),
    'hbbp_profile_source_count': (c_size_t, POINTER(hbbp_profile)),
    'hbbp_profile_copy_sources': (c_int32, POINTER(hbbp_profile), c_size_t, c_size_t, c_size_t,
        POINTER(hbbp_source_info), POINTER(c_size_t), POINTER(hbbp_error)),
    'hbbp_profile_thread_count': (c_size_t, POINTER(hbbp_profile)),
    'hbbp_profile_copy_threads': (c_int32, POINTER(hbbp_profile), c_size_t, c_size_t, c_size_t,
        POINTER(hbbp_thread), POINTER(c_size_t), POINTER(hbbp_error)),
    'hbbp_profile_module_count': (c_size_t, POINTER(hbbp_profile)),
    'hbbp_profile_copy_modules': (c_int32, POINTER(hbbp_profile), c_size_t, c_size_t, c_size_t,
        POINTER(hbbp_module), POINTER(c_size_t), POINTER(hbbp_error)),
    'hbbp_profile_counter_count': (c_size_t, POINTER(hbbp_profile), c_size_t),
    'hbbp_profile_copy_counters': (c_int32, POINTER(hbbp_profile), c_size_t, c_size_t, c_size_t,
        c_size_t, POINTER(hbbp_counter), POINTER(c_size_t), POINTER(hbbp_error)),
    'hbbp_profile_slice_count': (c_size_t, POINTER(hbbp_profile)),
    'hbbp_profile_copy_slices': (c_int32, POINTER(hbbp_profile), c_size_t, c_size_t, c_size_t,
        POINTER(hbbp_slice), POINTER(c_size_t), POINTER(hbbp_error)),
    'hbbp_profile_import': (c_int32, c_char_p, POINTER(hbbp_import_options),
        POINTER(hbbp_work_options), POINTER(POINTER(hbbp_profile)), POINTER(hbbp_error)),
    'hbbp_analysis_find_lines': (c_int32, POINTER(hbbp_analysis), c_uint32, c_uint64, c_size_t,
        c_size_t, POINTER(hbbp_line_frame), POINTER(hbbp_line_range), POINTER(hbbp_error)),
    'hbbp_analysis_debug_problem': (c_int32, POINTER(hbbp_analysis), c_uint32, c_char_p, c_size_t,
        POINTER(hbbp_error)),
    'hbbp_analysis_create': (c_int32, POINTER(hbbp_profile), POINTER(hbbp_analysis_options),
        POINTER(hbbp_work_options), POINTER(POINTER(hbbp_analysis)), POINTER(hbbp_error)),
    'hbbp_analysis_destroy': (None, POINTER(hbbp_analysis)),
    'hbbp_analysis_profile': (POINTER(hbbp_profile), POINTER(hbbp_analysis)),
    'hbbp_analysis_get_info': (c_int32, POINTER(hbbp_analysis), POINTER(hbbp_analysis_info),
        POINTER(hbbp_error)),
    'hbbp_analysis_block_count': (c_size_t, POINTER(hbbp_analysis)),
    'hbbp_analysis_copy_blocks': (c_int32, POINTER(hbbp_analysis), c_size_t, c_size_t, c_size_t,
        POINTER(hbbp_block), POINTER(c_size_t), POINTER(hbbp_error)),
    'hbbp_analysis_function_count': (c_size_t, POINTER(hbbp_analysis)),
    'hbbp_analysis_copy_functions': (c_int32, POINTER(hbbp_analysis), c_size_t, c_size_t, c_size_t,
        POINTER(hbbp_function), POINTER(c_size_t), POINTER(hbbp_error)),
    'hbbp_analysis_copy_hottest_blocks': (c_int32, POINTER(hbbp_analysis), c_int32, c_size_t,
        c_size_t, c_size_t, POINTER(hbbp_block), POINTER(c_size_t), POINTER(hbbp_error)),
    'hbbp_analysis_copy_hottest_functions': (c_int32, POINTER(hbbp_analysis), c_int32, c_size_t,
        c_size_t, c_size_t, POINTER(hbbp_function), POINTER(c_size_t), POINTER(hbbp_error)),
    'hbbp_analysis_branch_count': (c_size_t, POINTER(hbbp_analysis)),
    'hbbp_analysis_copy_branches': (c_int32, POINTER(hbbp_analysis), c_size_t, c_size_t, c_size_t,
        POINTER(hbbp_branch), POINTER(c_size_t), POINTER(hbbp_error)),
    'hbbp_analysis_ip_sum_count': (c_size_t, POINTER(hbbp_analysis)),
    'hbbp_analysis_copy_ip_sums': (c_int32, POINTER(hbbp_analysis), c_size_t, c_size_t, c_size_t,
        POINTER(hbbp_ip_sum), POINTER(c_size_t), POINTER(hbbp_error)),
    'hbbp_analysis_module_count': (c_size_t, POINTER(hbbp_analysis)),
    'hbbp_analysis_copy_modules': (c_int32, POINTER(hbbp_analysis), c_size_t, c_size_t, c_size_t,
        POINTER(hbbp_module_result), POINTER(c_size_t), POINTER(hbbp_error)),
    'hbbp_analysis_source_count': (c_size_t, POINTER(hbbp_analysis)),
    'hbbp_analysis_copy_sources': (c_int32, POINTER(hbbp_analysis), c_size_t, c_size_t, c_size_t,
        POINTER(hbbp_source_result), POINTER(c_size_t), POINTER(hbbp_error)),
    'hbbp_analysis_unexplained_reason_count': (c_size_t, POINTER(hbbp_analysis), c_size_t),
    'hbbp_analysis_copy_unexplained_reasons': (c_int32, POINTER(hbbp_analysis), c_size_t, c_size_t,
        c_size_t, c_size_t, POINTER(hbbp_counter), POINTER(c_size_t), POINTER(hbbp_error)),
    'hbbp_analysis_find_block': (c_int32, POINTER(hbbp_analysis), c_uint32, c_uint64,
        POINTER(hbbp_block), POINTER(hbbp_error)),
    'hbbp_count_interval': (None, c_double, c_double, POINTER(c_double), POINTER(c_double)),
    'hbbp_block_feature_count': (c_size_t,),
    'hbbp_block_feature_name': (c_char_p, c_size_t),
    'hbbp_analysis_copy_block_features': (c_int32, POINTER(hbbp_analysis), c_size_t, c_size_t,
        POINTER(c_double), POINTER(c_size_t), POINTER(hbbp_error)),
    'hbbp_capabilities_probe': (c_int32, POINTER(POINTER(hbbp_capabilities)), POINTER(hbbp_error)),
    'hbbp_capabilities_destroy': (None, POINTER(hbbp_capabilities)),
    'hbbp_capabilities_count': (c_size_t, POINTER(hbbp_capabilities)),
    'hbbp_capabilities_copy': (c_int32, POINTER(hbbp_capabilities), c_size_t, c_size_t, c_size_t,
        POINTER(hbbp_capability), POINTER(c_size_t), POINTER(hbbp_error)),
    'hbbp_event_find': (c_int32, c_char_p, POINTER(hbbp_event_code), POINTER(hbbp_error)),
    'hbbp_analysis_decode': (c_int32, POINTER(hbbp_analysis), c_uint32, c_uint64,
        POINTER(hbbp_instruction), POINTER(hbbp_error)),
    'hbbp_analysis_disassemble': (c_int32, POINTER(hbbp_analysis), c_uint32, c_uint64,
        POINTER(hbbp_disassembly), POINTER(hbbp_error)),
    'hbbp_demangle': (c_size_t, c_char_p, c_char_p, c_size_t),
    'hbbp_session_create': (c_int32, POINTER(hbbp_session_options), POINTER(POINTER(hbbp_session)),
        POINTER(hbbp_error)),
    'hbbp_session_destroy': (None, POINTER(hbbp_session)),
    'hbbp_session_start': (c_int32, POINTER(hbbp_session), POINTER(hbbp_error)),
    'hbbp_session_drain': (c_int32, POINTER(hbbp_session), POINTER(c_uint32), POINTER(hbbp_error)),
    'hbbp_session_stop': (c_int32, POINTER(hbbp_session), POINTER(hbbp_error)),
    'hbbp_session_snapshot': (c_int32, POINTER(hbbp_session), POINTER(hbbp_work_options),
        POINTER(POINTER(hbbp_profile)), POINTER(hbbp_error)),
    'hbbp_session_get_info': (c_int32, POINTER(hbbp_session), POINTER(hbbp_session_info),
        POINTER(hbbp_error)),
    'hbbp_profile_call': (c_int32, CFUNCTYPE(None, c_void_p), c_void_p,
        POINTER(hbbp_session_options), POINTER(POINTER(hbbp_profile)), POINTER(hbbp_error)),
    'hbbp_session_add_data': (c_int32, POINTER(hbbp_session), POINTER(hbbp_data_region),
        POINTER(hbbp_error)),
    'hbbp_feed_create': (c_int32, POINTER(hbbp_feed_options), POINTER(POINTER(hbbp_feed)),
        POINTER(hbbp_error)),
    'hbbp_feed_destroy': (None, POINTER(hbbp_feed)),
    'hbbp_feed_add_source': (c_int32, POINTER(hbbp_feed), POINTER(hbbp_feed_source),
        POINTER(c_uint32), POINTER(hbbp_error)),
    'hbbp_feed_add_perf_ids': (c_int32, POINTER(hbbp_feed), c_uint32, POINTER(c_uint64), c_size_t,
        POINTER(hbbp_error)),
    'hbbp_feed_add_perf_records': (c_int32, POINTER(hbbp_feed), c_void_p, c_size_t,
        POINTER(c_size_t), POINTER(hbbp_error)),
    'hbbp_feed_add_samples': (c_int32, POINTER(hbbp_feed), c_uint32, POINTER(hbbp_feed_sample),
        c_size_t, c_size_t, POINTER(hbbp_error)),
    'hbbp_feed_add_events': (c_int32, POINTER(hbbp_feed), POINTER(hbbp_feed_event), c_size_t,
        c_size_t, POINTER(hbbp_error)),
    'hbbp_feed_process': (c_int32, POINTER(hbbp_feed), c_uint32, POINTER(hbbp_error)),
    'hbbp_feed_end_round': (c_int32, POINTER(hbbp_feed), POINTER(hbbp_error)),
    'hbbp_feed_flush': (c_int32, POINTER(hbbp_feed), c_uint64, POINTER(hbbp_error)),
    'hbbp_feed_snapshot': (c_int32, POINTER(hbbp_feed), POINTER(hbbp_work_options),
        POINTER(POINTER(hbbp_profile)), POINTER(hbbp_error)),
    'hbbp_feed_get_info': (c_int32, POINTER(hbbp_feed), POINTER(hbbp_feed_info),
        POINTER(hbbp_error)),
    'hbbp_export_format_count': (c_size_t,),
    'hbbp_export_copy_formats': (c_int32, c_size_t, c_size_t, c_size_t,
        POINTER(hbbp_export_format), POINTER(c_size_t), POINTER(hbbp_error)),
    'hbbp_export': (c_int32, POINTER(hbbp_analysis), c_char_p, POINTER(hbbp_export_options),
        POINTER(hbbp_work_options), CFUNCTYPE(c_int32, c_void_p, c_size_t, c_void_p), c_void_p,
        POINTER(hbbp_error)),
    'hbbp_analysis_ibs_sum_count': (c_size_t, POINTER(hbbp_analysis)),
    'hbbp_analysis_copy_ibs_sums': (c_int32, POINTER(hbbp_analysis), c_size_t, c_size_t, c_size_t,
        POINTER(hbbp_ibs_sum), POINTER(c_size_t), POINTER(hbbp_error)),
    'hbbp_analysis_ibs_latency_count': (c_size_t, POINTER(hbbp_analysis)),
    'hbbp_analysis_copy_ibs_latencies': (c_int32, POINTER(hbbp_analysis), c_size_t, c_size_t,
        c_size_t, POINTER(hbbp_ibs_latency), POINTER(c_size_t), POINTER(hbbp_error)),
    'hbbp_analysis_ibs_object_count': (c_size_t, POINTER(hbbp_analysis)),
    'hbbp_analysis_copy_ibs_objects': (c_int32, POINTER(hbbp_analysis), c_size_t, c_size_t,
        c_size_t, POINTER(hbbp_ibs_object), POINTER(c_size_t), POINTER(hbbp_error)),
    'hbbp_profile_ibs_bucket_count': (c_size_t, POINTER(hbbp_profile)),
    'hbbp_profile_copy_ibs_buckets': (c_int32, POINTER(hbbp_profile), c_size_t, c_size_t, c_size_t,
        POINTER(hbbp_ibs_bucket), POINTER(c_size_t), POINTER(hbbp_error)),
    'hbbp_profile_ibs_line_count': (c_size_t, POINTER(hbbp_profile)),
    'hbbp_profile_copy_ibs_lines': (c_int32, POINTER(hbbp_profile), c_size_t, c_size_t, c_size_t,
        POINTER(hbbp_ibs_line), POINTER(c_size_t), POINTER(hbbp_error)),
    'hbbp_session_add_code': (c_int32, POINTER(hbbp_session), POINTER(hbbp_code_region),
        POINTER(hbbp_error)),
    'hbbp_loops_create': (c_int32, POINTER(hbbp_analysis), POINTER(hbbp_work_options),
        POINTER(POINTER(hbbp_loops)), POINTER(hbbp_error)),
    'hbbp_loops_destroy': (None, POINTER(hbbp_loops)),
    'hbbp_loops_count': (c_size_t, POINTER(hbbp_loops)),
    'hbbp_loops_copy': (c_int32, POINTER(hbbp_loops), c_size_t, c_size_t, c_size_t,
        POINTER(hbbp_loop), POINTER(c_size_t), POINTER(hbbp_error)),
    'hbbp_loops_copy_of_blocks': (c_int32, POINTER(hbbp_loops), c_size_t, c_size_t,
        POINTER(c_uint32), POINTER(c_size_t), POINTER(hbbp_error)),
    'hbbp_mix_create': (c_int32, POINTER(hbbp_analysis), c_uint32, POINTER(hbbp_work_options),
        POINTER(POINTER(hbbp_mix)), POINTER(hbbp_error)),
    'hbbp_mix_destroy': (None, POINTER(hbbp_mix)),
    'hbbp_mix_total': (c_double, POINTER(hbbp_mix)),
    'hbbp_mix_row_count': (c_size_t, POINTER(hbbp_mix)),
    'hbbp_mix_copy_rows': (c_int32, POINTER(hbbp_mix), c_size_t, c_size_t, c_size_t,
        POINTER(hbbp_mix_row), POINTER(c_size_t), POINTER(hbbp_error)),
    'hbbp_taxonomy_create': (c_int32, c_char_p, POINTER(POINTER(hbbp_taxonomy)),
        POINTER(hbbp_error)),
    'hbbp_taxonomy_load': (c_int32, c_char_p, POINTER(POINTER(hbbp_taxonomy)),
        POINTER(hbbp_error)),
    'hbbp_taxonomy_destroy': (None, POINTER(hbbp_taxonomy)),
    'hbbp_taxonomy_count': (c_size_t, POINTER(hbbp_taxonomy)),
    'hbbp_taxonomy_name': (c_char_p, POINTER(hbbp_taxonomy), c_size_t),
    'hbbp_taxonomy_group_count': (c_size_t, POINTER(hbbp_taxonomy), c_size_t),
    'hbbp_taxonomy_group_name': (c_char_p, POINTER(hbbp_taxonomy), c_size_t, c_size_t),
    'hbbp_pivot_key_name_count': (c_size_t,),
    'hbbp_pivot_key_name': (c_char_p, c_size_t),
    'hbbp_pivot_value_name_count': (c_size_t,),
    'hbbp_pivot_value_name': (c_char_p, c_size_t),
    'hbbp_pivot_create': (c_int32, POINTER(hbbp_analysis), POINTER(hbbp_pivot_query),
        POINTER(hbbp_work_options), POINTER(POINTER(hbbp_pivot)), POINTER(hbbp_error)),
    'hbbp_pivot_destroy': (None, POINTER(hbbp_pivot)),
    'hbbp_pivot_line_count': (c_size_t, POINTER(hbbp_pivot), c_int32),
    'hbbp_pivot_line_count_in_all': (c_size_t, POINTER(hbbp_pivot), c_int32),
    'hbbp_pivot_key_count': (c_size_t, POINTER(hbbp_pivot), c_int32),
    'hbbp_pivot_value_count': (c_size_t, POINTER(hbbp_pivot)),
    'hbbp_pivot_get_label': (c_int32, POINTER(hbbp_pivot), c_int32, c_size_t, c_size_t,
        POINTER(hbbp_pivot_label), POINTER(hbbp_error)),
    'hbbp_pivot_get_cell': (c_int32, POINTER(hbbp_pivot), c_size_t, c_size_t, c_size_t,
        POINTER(hbbp_pivot_cell), POINTER(hbbp_error)),
    'hbbp_ratios_create': (c_int32, POINTER(hbbp_analysis), c_char_p, POINTER(hbbp_taxonomy),
        POINTER(hbbp_work_options), POINTER(POINTER(hbbp_ratios)), POINTER(hbbp_error)),
    'hbbp_ratios_destroy': (None, POINTER(hbbp_ratios)),
    'hbbp_ratios_count': (c_size_t, POINTER(hbbp_ratios)),
    'hbbp_ratios_copy': (c_int32, POINTER(hbbp_ratios), c_size_t, c_size_t, c_size_t,
        POINTER(hbbp_ratio), POINTER(c_size_t), POINTER(hbbp_error)),
    'hbbp_probe_builtin_count': (c_size_t,),
    'hbbp_probe_builtin_name': (c_char_p, c_size_t),
    'hbbp_probe_create': (c_int32, POINTER(hbbp_probe_options), POINTER(POINTER(hbbp_probe)),
        POINTER(hbbp_error)),
    'hbbp_probe_destroy': (None, POINTER(hbbp_probe)),
    'hbbp_probe_run': (c_int32, POINTER(hbbp_probe), POINTER(hbbp_analysis), c_uint64,
        POINTER(hbbp_work_options), POINTER(c_uint64), POINTER(hbbp_error)),
    'hbbp_probe_start': (c_int32, POINTER(hbbp_probe), POINTER(hbbp_session), c_uint32,
        POINTER(hbbp_error)),
    'hbbp_probe_stop': (c_int32, POINTER(hbbp_probe), POINTER(hbbp_error)),
    'hbbp_probe_get_info': (c_int32, POINTER(hbbp_probe), POINTER(hbbp_probe_info),
        POINTER(hbbp_error)),
    'hbbp_probe_production_count': (c_size_t, POINTER(hbbp_probe)),
    'hbbp_probe_copy_productions': (c_int32, POINTER(hbbp_probe), c_size_t, c_size_t, c_size_t,
        POINTER(hbbp_probe_production), POINTER(c_size_t), POINTER(hbbp_error)),
    'hbbp_probe_table_count': (c_size_t, POINTER(hbbp_probe)),
    'hbbp_probe_copy_tables': (c_int32, POINTER(hbbp_probe), c_size_t, c_size_t, c_size_t,
        POINTER(hbbp_probe_table), POINTER(c_size_t), POINTER(hbbp_error)),
    'hbbp_probe_field_count': (c_size_t, POINTER(hbbp_probe), c_size_t),
    'hbbp_probe_copy_fields': (c_int32, POINTER(hbbp_probe), c_size_t, c_size_t, c_size_t,
        c_size_t, POINTER(hbbp_probe_field), POINTER(c_size_t), POINTER(hbbp_error)),
    'hbbp_probe_row_count': (c_size_t, POINTER(hbbp_probe), c_size_t),
    'hbbp_probe_copy_rows': (c_int32, POINTER(hbbp_probe), c_size_t, c_size_t, c_size_t, c_size_t,
        POINTER(hbbp_probe_row), POINTER(c_size_t), POINTER(hbbp_error)),
    'hbbp_probe_stream_count': (c_size_t, POINTER(hbbp_probe), c_size_t),
    'hbbp_probe_copy_streams': (c_int32, POINTER(hbbp_probe), c_size_t, c_size_t, c_size_t,
        c_size_t, POINTER(hbbp_probe_stream), POINTER(c_size_t), POINTER(hbbp_error)),
    'hbbp_probe_locate': (c_int32, POINTER(hbbp_probe), c_uint64, POINTER(hbbp_probe_location),
        POINTER(hbbp_error)),
    'hbbp_session_add_source': (c_int32, POINTER(hbbp_session), POINTER(hbbp_source_ops), c_void_p,
        POINTER(hbbp_error)),
    'hbbp_version_string': (c_char_p,),
    'hbbp_version_number': (c_uint32,),
    'hbbp_abi_version': (c_uint32,),
    'hbbp_feature': (c_int32, c_char_p),
}
