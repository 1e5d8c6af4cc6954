"""Calls the feed functions of libhbbp (include/hbbp/feed.h), as any host in Python would."""
import ctypes
import os

EBS, LBR, IBS = 1, 2, 3
MAPPING, CODE, EXEC, FORK, EXIT, THREAD_NAME, BUILD_ID, LOST = range(1, 9)
BAD_FORMAT = -6
ALL = 2 ** 64 - 1

u32, u64, i32 = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_int32
text = ctypes.c_char_p


class Error(ctypes.Structure):
    _fields_ = [('struct_size', u32), ('status', i32), ('message', ctypes.c_char * 1024)]


class Options(ctypes.Structure):
    _fields_ = [('struct_size', u32), ('order', i32), ('max_waiting_bytes', u64), ('command', text),
                ('host', text), ('cpu_id', text), ('root', text),
                ('moved_files', ctypes.c_void_p), ('moved_file_count', ctypes.c_size_t)]


class Source(ctypes.Structure):
    _fields_ = [('struct_size', u32), ('perf_attr_size', u32), ('perf_attr', ctypes.c_char_p),
                ('perf_ids', ctypes.POINTER(u64)), ('perf_id_count', ctypes.c_size_t),
                ('event_name', text), ('kind', i32), ('event', i32), ('ibs', i32),
                ('include_kernel', u32), ('period', u64), ('frequency_hz', u64)]


class Branch(ctypes.Structure):
    _fields_ = [('source', u64), ('target', u64), ('flags', u64)]


class Sample(ctypes.Structure):
    _fields_ = [('time_ns', u64), ('ip', u64), ('period', u64), ('extent', u64), ('pid', u32),
                ('tid', u32), ('branches', ctypes.POINTER(Branch)), ('branch_count', u32),
                ('ibs_register_count', u32), ('ibs_registers', ctypes.POINTER(u64)),
                ('ibs_capabilities', u32), ('reserved', u32)]


class Event(ctypes.Structure):
    _fields_ = [('kind', i32), ('pid', u32), ('tid', u32), ('parent_pid', u32), ('parent_tid', u32),
                ('source', u32), ('time_ns', u64), ('address', u64), ('size', u64),
                ('file_offset', u64), ('device', u64), ('inode', u64), ('count', u64),
                ('name', text), ('build_id', ctypes.c_char_p), ('code', ctypes.c_char_p),
                ('build_id_size', u32), ('reserved', u32)]


class FeedError(Exception):
    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


class Feed:
    def __init__(self, **options):
        self.library = ctypes.CDLL(os.environ['HBBP_LIBRARY'])
        self.handle = ctypes.c_void_p()
        given = Options(ctypes.sizeof(Options), **options)
        self.call('feed_create', ctypes.byref(given), ctypes.byref(self.handle))

    def call(self, name, *arguments):
        error = Error(ctypes.sizeof(Error))
        function = getattr(self.library, 'hbbp_' + name)
        if function(*arguments, ctypes.byref(error)) != 0:
            raise FeedError(error.status, error.message.decode())

    def add_source(self, ids=(), **fields):
        array = (u64 * len(ids))(*ids)
        source = Source(ctypes.sizeof(Source), perf_ids=array, perf_id_count=len(ids), **fields)
        index = u32()
        self.call('feed_add_source', self.handle, ctypes.byref(source), ctypes.byref(index))
        return index.value

    def add_records(self, records):
        """Returns how many bytes are whole records, and the error, if any."""
        consumed = ctypes.c_size_t()
        try:
            self.call('feed_add_perf_records', self.handle, records,
                      ctypes.c_size_t(len(records)), ctypes.byref(consumed))
        except FeedError as error:
            return consumed.value, error
        return consumed.value, None

    def add_samples(self, source, samples):
        array = (Sample * len(samples))(*samples)
        self.call('feed_add_samples', self.handle, u32(source), array,
                  ctypes.c_size_t(len(samples)), ctypes.c_size_t(ctypes.sizeof(Sample)))

    def add_events(self, *events):
        array = (Event * len(events))(*events)
        self.call('feed_add_events', self.handle, array, ctypes.c_size_t(len(events)),
                  ctypes.c_size_t(ctypes.sizeof(Event)))

    def flush(self, up_to_ns=ALL):
        self.call('feed_flush', self.handle, u64(up_to_ns))

    def save(self, path):
        profile = ctypes.c_void_p()
        self.call('feed_snapshot', self.handle, None, ctypes.byref(profile))
        self.call('profile_save', profile, str(path).encode(), None)
        self.library.hbbp_profile_destroy(profile)

    def close(self):
        self.library.hbbp_feed_destroy(self.handle)
