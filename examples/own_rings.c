/* A profiler that has perf events and ring buffers of its own, and uses the library for the rest:
 * it prints where work() spends its time. */
#define _GNU_SOURCE /* for syscall */
#include <hbbp/hbbp.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { RING_BYTES = 1 << 18 };

static struct perf_event_mmap_page *ring;

static int open_event(struct perf_event_attr *attr) {
  memset(attr, 0, sizeof(*attr));
  attr->size = sizeof(*attr);
  attr->type = PERF_TYPE_SOFTWARE;
  attr->config = PERF_COUNT_SW_TASK_CLOCK;
  attr->sample_period = 1000000; /* ns */
  attr->sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
  attr->exclude_kernel = 1;
  attr->disabled = 1;
  attr->mmap = 1; /* also libraries that are loaded later */
  attr->mmap2 = 1;
  attr->sample_id_all = 1;
  const int event = (int)syscall(SYS_perf_event_open, attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
  if (event < 0) {
    perror("perf_event_open");
    exit(1);
  }
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  ring = mmap(NULL, page + RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, event, 0);
  if (ring == MAP_FAILED) {
    perror("mmap of the ring");
    exit(1);
  }
  return event;
}

/* Adds what was mapped before there was an event: the kernel reports only later mappings. */
static void add_maps(hbbp_feed *feed) {
  FILE *maps = fopen("/proc/self/maps", "r");
  char line[4352];
  while (maps != NULL && fgets(line, sizeof(line), maps) != NULL) {
    unsigned long start, end, offset;
    char mode[5], path[4097] = "";
    if (sscanf(line, "%lx-%lx %4s %lx %*s %*s %4096[^\n]", &start, &end, mode, &offset, path) < 4 ||
        mode[2] != 'x') {
      continue;
    }
    const hbbp_feed_event mapping = {.kind = HBBP_FEED_MAPPING,
                                     .pid = (uint32_t)getpid(),
                                     .address = start,
                                     .size = end - start,
                                     .file_offset = offset,
                                     .name = path};
    hbbp_feed_add_events(feed, &mapping, 1, sizeof(mapping), NULL);
  }
  if (maps != NULL) fclose(maps);
}

/* Adds the records of the ring; a record that wraps around its end is joined first. */
static void add_ring(hbbp_feed *feed) {
  static char records[RING_BYTES];
  const char *data = (const char *)ring + ring->data_offset;
  const uint64_t head = __atomic_load_n(&ring->data_head, __ATOMIC_ACQUIRE);
  const size_t bytes = (size_t)(head - ring->data_tail);
  const size_t begin = (size_t)ring->data_tail % RING_BYTES;
  const size_t first = bytes < RING_BYTES - begin ? bytes : RING_BYTES - begin;
  memcpy(records, data + begin, first);
  memcpy(records + first, data, bytes - first);
  __atomic_store_n(&ring->data_tail, head, __ATOMIC_RELEASE);
  HBBP_INIT(hbbp_error, error);
  if (hbbp_feed_add_perf_records(feed, records, bytes, NULL, &error)) {
    fprintf(stderr, "%s\n", error.message);
  }
}

__attribute__((noinline)) static unsigned work(unsigned state) {
  for (int i = 0; i < 30000000; i++) state = state * 1664525 + 1013904223;
  return state;
}

int main(void) {
  struct perf_event_attr attr;
  const int event = open_event(&attr);
  hbbp_feed *feed = NULL;
  HBBP_INIT(hbbp_feed_options, options);
  options.order = HBBP_FEED_AS_ADDED; /* of one ring */
  HBBP_INIT(hbbp_feed_source, source);
  source.perf_attr = &attr;
  source.perf_attr_size = sizeof(attr);
  HBBP_INIT(hbbp_error, error);
  if (hbbp_feed_create(&options, &feed, &error) ||
      hbbp_feed_add_source(feed, &source, NULL, &error)) {
    fprintf(stderr, "%s\n", error.message);
    return 1;
  }
  add_maps(feed);
  unsigned sum = 0;
  for (int i = 0; i < 20; i++) {
    ioctl(event, PERF_EVENT_IOC_ENABLE, 0);
    sum = work(sum);
    ioctl(event, PERF_EVENT_IOC_DISABLE, 0);
    add_ring(feed);
  }

  hbbp_profile *profile = NULL;
  hbbp_analysis *analysis = NULL;
  if (hbbp_feed_snapshot(feed, NULL, &profile, &error) ||
      hbbp_analysis_create(profile, NULL, NULL, &analysis, &error)) {
    fprintf(stderr, "%s\n", error.message);
    return 1;
  }
  HBBP_INIT(hbbp_profile_info, info);
  hbbp_profile_get_info(profile, &info, NULL);
  printf("sum = %u, %llu samples\n", sum, (unsigned long long)info.samples);
  for (size_t i = 0; i < hbbp_analysis_block_count(analysis); i++) {
    hbbp_block block;
    hbbp_function function;
    size_t copied;
    hbbp_analysis_copy_blocks(analysis, i, 1, sizeof(block), &block, &copied, NULL);
    hbbp_analysis_copy_functions(analysis, block.function, 1, sizeof(function), &function, &copied,
                                 NULL);
    printf("%6.1f %% in %s, block 0x%llx of %u instructions\n",
           100.0 * (double)block.samples / (double)info.samples, function.name,
           (unsigned long long)block.start, block.instruction_count);
  }
  hbbp_analysis_destroy(analysis);
  hbbp_profile_destroy(profile);
  hbbp_feed_destroy(feed);
  return 0;
}
