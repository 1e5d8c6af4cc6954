// Written by `generate`: everything that src/bindings.rs declares.

declared! {
    structs [
        hbbp_error { struct_size, status, message }
        hbbp_module { struct_size, kind, build_id, build_id_size, reserved, path, samples }
        hbbp_thread { struct_size, pid, tid, reserved, name, samples }
        hbbp_source_info { struct_size, kind, event, period_mode, unit, include_kernel, period, frequency_hz, samples, lost, throttled, unmapped, note, bursts, taken_branches, breakpoints, lookahead_instructions, decoded_instructions, handler_ns, verified_branches, disagreements, mode, method, event_name, precise_ip, ebs_method, smallest_period, largest_period, extent_in_events, reserved }
        hbbp_counter { struct_size, reserved, name, value }
        hbbp_profile_info { struct_size, pid, start_time_ns, duration_ns, command, host, samples, lost, throttled, unmapped, recordings, kept_bursts, bursts_not_kept }
        hbbp_merger_options { struct_size, dropped }
        hbbp_selection { struct_size, parts, tid, slice }
        hbbp_kernel_files { struct_size, reserved, vmlinux, kcore, kallsyms }
        hbbp_analysis_options { struct_size, estimator, tree, kernel, debug, event, root, moved_files, moved_file_count, reserved }
        hbbp_analysis_info { struct_size, estimator, ebs_scale, streams_scale, is_one_scale, reserved }
        hbbp_source_result { struct_size, reserved, unexplained, superseded, is_other_event, reserved2 }
        hbbp_module_result { struct_size, code, problem, patched_bytes }
        hbbp_block { struct_size, module, start, end, instruction_count, function, source, flags, count, standard_error, samples, bias_ratio, bias_chance }
        hbbp_function { struct_size, module, start, end, name, instructions, standard_error, samples, demangled_name }
        hbbp_branch { struct_size, from_module, from, to, to_module, reserved, samples, count, oldest, oldest_expected }
        hbbp_ip_sum { struct_size, module, function, source, address, samples }
        hbbp_capability { struct_size, state, name, detail, advice }
        hbbp_event_code { struct_size, event, type_, config }
        hbbp_instruction { struct_size, length, address, mnemonic }
        hbbp_disassembly { struct_size, length, address, target, flow, reserved, text }
        hbbp_data_region { struct_size, reserved, address, size, name, time_ns }
        hbbp_feed_options { struct_size, order, max_waiting_bytes, command, host, cpu_id, root, moved_files, moved_file_count, slice_ns, log, log_user_data, log_level, reserved, max_memory, allocator, kept_burst_bytes }
        hbbp_feed_source { struct_size, perf_attr_size, perf_attr, perf_ids, perf_id_count, event_name, kind, event, ibs, include_kernel, period, frequency_hz }
        hbbp_branch_entry { from, to, flags }
        hbbp_feed_sample { time_ns, ip, period, extent, pid, tid, branches, branch_count, ibs_register_count, ibs_registers, ibs_capabilities, reserved }
        hbbp_feed_event { kind, pid, tid, parent_pid, parent_tid, source, time_ns, address, size, file_offset, device, inode, count, name, build_id, code, build_id_size, reserved }
        hbbp_feed_info { struct_size, reserved, samples, lost, throttled, duration_ns, waiting, dropped, memory_bytes, peak_memory_bytes }
        hbbp_export_format { struct_size, is_of_one_module, name, summary }
        hbbp_export_options { struct_size, reserved, module, note, user_data }
        hbbp_work_options { struct_size, reserved, progress, user_data, cancel }
        hbbp_allocator { struct_size, reserved, allocate, deallocate, user_data }
        hbbp_ibs_sum { struct_size, module, function, reserved, event, address, sum }
        hbbp_ibs_bucket { struct_size, reserved, latency, first_cycles, end_cycles, samples }
        hbbp_ibs_latency { struct_size, module, function, reserved, level, address, first_cycles, end_cycles, samples }
        hbbp_ibs_line { struct_size, pid, tid, node, address, loads, stores, misses, miss_cycles, local, remote }
        hbbp_ibs_object { struct_size, module, kind, threads, name, address, size, loads, stores, misses, miss_cycles, local, remote }
        hbbp_moved_file { recorded, here }
        hbbp_import_options { struct_size, moved_file_count, root, moved_files, binary, ebs_method, reserved, slice_ns, log, log_user_data, log_level, reserved2, max_memory, allocator, kept_burst_bytes }
        hbbp_code_region { struct_size, reserved, address, size, code, name, time_ns }
        hbbp_debug_options { struct_size, flags, debug_root, memory_limit, progress, user_data, cancel }
        hbbp_line_frame { struct_size, line, column, discriminator, file, function, function_line, reserved }
        hbbp_line_range { struct_size, frame_count, start, end }
        hbbp_loop { struct_size, module, function, parent, depth, flags, blocks, trip_basis, header, entries, entries_error, iterations, iterations_error, trip_count, trip_count_error, trip_count_by_branches, trip_count_by_branches_error, trip_count_by_counts, trip_count_by_counts_error, instructions, instructions_error, own_instructions, own_instructions_error }
        hbbp_mix_row { struct_size, module, function, thread, mnemonic, instructions, standard_error, share, slice, reserved }
        hbbp_pivot_query { struct_size, join_names, rows, columns, values, where_, sort, top, taxonomy }
        hbbp_pivot_label { struct_size, kind, text, number, index, reserved }
        hbbp_pivot_cell { struct_size, reserved, value, standard_error, share, share_error }
        hbbp_ratio { struct_size, is_known, group, name, value, unit, standard_error }
        hbbp_probe_call { struct_size, production, table, thread, pc, target, next, flow, taken, value_count, unknown, values, burst, time_ns, weight }
        hbbp_probe_options { struct_size, is_exhaustive, productions, taxonomy, sample_freq, burst_length, max_rows, max_symbols, min_stream_length, max_stream_length, min_stream_heat, handler, user_data }
        hbbp_probe_info { struct_size, is_exhaustive, sample_freq, burst_length, bursts, begun_bursts, instructions, streams, skipped_streams, streams_without_code, other_bursts, not_kept, counts_executions, reserved }
        hbbp_probe_production { struct_size, reserved, name, firings }
        hbbp_probe_table { struct_size, kind, name, records, dropped, unknown, estimate }
        hbbp_probe_field { struct_size, kind, name }
        hbbp_probe_row { struct_size, reserved, values, estimate, share, records }
        hbbp_probe_stream { struct_size, field_count, values, length, frequency, share }
        hbbp_probe_location { struct_size, module, path, address, function, name }
        hbbp_session_options { struct_size, source, event, period_mode, period, frequency_hz, include_kernel, buffer_bytes, trace_mode, burst_branches, branch_period, expected_seconds, pid, event_name, event_type, event_config, ebs_method, imprecise, slice_ns, log, log_user_data, log_level, thread_count, threads, max_overhead, max_memory, allocator, drained_by_host, keep_accesses, kept_burst_bytes, keep_values, enable_on_exec }
        hbbp_session_info { struct_size, running, samples, lost, throttled, duration_ns, dropped, cpu_ns, overhead_ns, recent_overhead, period_factor, period_changes, memory_bytes, peak_memory_bytes }
        hbbp_slice { struct_size, reserved, start_ns, end_ns, samples }
        hbbp_source_ops { struct_size, reserved, name, start, drain, stop, destroy }
    ]
    opaque [
        hbbp_profile
        hbbp_merger
        hbbp_analysis
        hbbp_capabilities
        hbbp_feed
        hbbp_cancel
        hbbp_loops
        hbbp_mix
        hbbp_taxonomy
        hbbp_pivot
        hbbp_ratios
        hbbp_probe
        hbbp_session
    ]
    constants [
        HBBP_OK
        HBBP_ERROR_INVALID_ARGUMENT
        HBBP_ERROR_INVALID_STATE
        HBBP_ERROR_NO_MEMORY
        HBBP_ERROR_NOT_FOUND
        HBBP_ERROR_IO
        HBBP_ERROR_BAD_FORMAT
        HBBP_ERROR_UNSUPPORTED
        HBBP_ERROR_PERMISSION
        HBBP_ERROR_BUSY
        HBBP_ERROR_VERSION
        HBBP_ERROR_MISMATCH
        HBBP_ERROR_INTERNAL
        HBBP_ERROR_CANCELLED
        HBBP_VERSION_MAJOR
        HBBP_VERSION_MINOR
        HBBP_VERSION_PATCH
        HBBP_VERSION_STRING
        HBBP_ABI_VERSION
        HBBP_SOURCE_NONE
        HBBP_SOURCE_EBS
        HBBP_SOURCE_LBR
        HBBP_SOURCE_IBS
        HBBP_SOURCE_SWBT
        HBBP_SOURCE_TRUTH
        HBBP_SOURCE_AUTO
        HBBP_SOURCE_EBS_AND_SWBT
        HBBP_SOURCE_COMBINED
        HBBP_SOURCE_EXTERNAL
        HBBP_SOURCE_PERF
        HBBP_EVENT_AUTO
        HBBP_EVENT_TASK_CLOCK
        HBBP_EVENT_CPU_CLOCK
        HBBP_EVENT_INSTRUCTIONS
        HBBP_EVENT_CYCLES
        HBBP_EVENT_TAKEN_BRANCHES
        HBBP_EVENT_OTHER
        HBBP_EVENT_UOPS
        HBBP_PERIOD_PRIME
        HBBP_PERIOD_FIXED
        HBBP_PERIOD_RANDOM
        HBBP_PERIOD_BY_FREQUENCY
        HBBP_TRACE_LOOKAHEAD
        HBBP_TRACE_BREAKPOINT
        HBBP_TRACE_VERIFY
        HBBP_MAX_BURST_BRANCHES
        HBBP_NO_INDEX
        HBBP_NO_ADDRESS
        HBBP_MODULE_FILE
        HBBP_MODULE_VDSO
        HBBP_MODULE_ANONYMOUS
        HBBP_MODULE_KERNEL
        HBBP_UNIT_INSTRUCTIONS
        HBBP_UNIT_NANOSECONDS
        HBBP_UNIT_CYCLES
        HBBP_UNIT_TAKEN_BRANCHES
        HBBP_UNIT_EVENTS
        HBBP_UNIT_UOPS
        HBBP_EBS_AUTO
        HBBP_EBS_PLAIN
        HBBP_EBS_IP_PLUS_ONE
        HBBP_MERGER_DROP_THREADS
        HBBP_MERGER_DROP_SLICES
        HBBP_SELECT_THREAD
        HBBP_SELECT_SLICE
        HBBP_CODE_FILE
        HBBP_CODE_PROFILE
        HBBP_CODE_MISSING
        HBBP_CODE_MISMATCH
        HBBP_CODE_NOT_SOUGHT
        HBBP_CODE_CORE
        HBBP_BLOCK_BIASED
        HBBP_BIAS_RATIO
        HBBP_BIAS_CHANCE
        HBBP_ORDER_INSTRUCTIONS
        HBBP_ORDER_EXECUTIONS
        HBBP_ORDER_SAMPLES
        HBBP_CAPABILITY_UNKNOWN
        HBBP_CAPABILITY_SUPPORTED
        HBBP_CAPABILITY_MISSING
        HBBP_CAPABILITY_DENIED
        HBBP_FLOW_NEXT
        HBBP_FLOW_CONDITIONAL
        HBBP_FLOW_JUMP
        HBBP_FLOW_INDIRECT_JUMP
        HBBP_FLOW_CALL
        HBBP_FLOW_INDIRECT_CALL
        HBBP_FLOW_RETURN
        HBBP_FLOW_SYSTEM
        HBBP_FLOW_TRAP
        HBBP_MAX_DATA_BLOCKS
        HBBP_MAX_DATA_NAMES
        HBBP_ESTIMATOR_AUTO
        HBBP_ESTIMATOR_EBS
        HBBP_ESTIMATOR_STREAMS
        HBBP_ESTIMATOR_TREE
        HBBP_ESTIMATOR_FLOW
        HBBP_FEED_BY_TIME
        HBBP_FEED_AS_ADDED
        HBBP_IBS_NONE
        HBBP_IBS_OP
        HBBP_IBS_FETCH
        HBBP_BRANCH_WRONG_PATH
        HBBP_MAX_FEED_BRANCHES
        HBBP_MAX_IBS_REGISTERS
        HBBP_FEED_MAPPING
        HBBP_FEED_CODE
        HBBP_FEED_EXEC
        HBBP_FEED_FORK
        HBBP_FEED_EXIT
        HBBP_FEED_THREAD_NAME
        HBBP_FEED_BUILD_ID
        HBBP_FEED_LOST
        HBBP_FEED_THROTTLED
        HBBP_FEED_DATA
        HBBP_FEED_KERNEL_PID
        HBBP_FEED_ALL
        HBBP_LOG_ERROR
        HBBP_LOG_WARNING
        HBBP_LOG_INFO
        HBBP_LOG_DEBUG
        HBBP_MIN_MEMORY
        HBBP_MIN_KEPT_BURST_BYTES
        HBBP_IBS_SYMBOL
        HBBP_IBS_SECTION
        HBBP_IBS_BLOCK
        HBBP_IBS_OTHER
        HBBP_DEBUG_USE_DEBUGINFOD
        HBBP_LOOP_IRREDUCIBLE
        HBBP_TRIPS_UNKNOWN
        HBBP_TRIPS_BY_BRANCHES
        HBBP_TRIPS_BY_COUNTS
        HBBP_MIX_BY_MNEMONIC
        HBBP_MIX_BY_MODULE
        HBBP_MIX_BY_FUNCTION
        HBBP_MIX_BY_THREAD
        HBBP_MIX_BY_SLICE
        HBBP_PIVOT_ROWS
        HBBP_PIVOT_COLUMNS
        HBBP_LABEL_TEXT
        HBBP_LABEL_NUMBER
        HBBP_LABEL_ADDRESS
        HBBP_PIVOT_ALL
        HBBP_MAX_PROBE_FIELDS
        HBBP_PROBE_GO_ON
        HBBP_PROBE_STOP_BURST
        HBBP_MAX_PROBE_COUNTER
        HBBP_PROBE_COUNTS
        HBBP_PROBE_TRACE
        HBBP_PROBE_CALLS
        HBBP_PROBE_NUMBER
        HBBP_PROBE_CODE
        HBBP_PROBE_SIGNED
        HBBP_PROBE_PATH
        HBBP_PROBE_REUSE
        HBBP_VALUE_DIVISOR
        HBBP_VALUE_RDI
        HBBP_VALUE_RSI
        HBBP_VALUE_RDX
        HBBP_VALUE_RCX
        HBBP_VALUE_R8
        HBBP_VALUE_R9
        HBBP_MIN_SLICE_NS
        HBBP_MAX_SLICE_NS
        HBBP_MAX_SLICES
    ]
    functions [
        hbbp_status_name(_)
        hbbp_version_string()
        hbbp_version_number()
        hbbp_abi_version()
        hbbp_feature(_)
        hbbp_profile_load(_, _, _, _)
        hbbp_profile_save(_, _, _, _)
        hbbp_profile_destroy(_)
        hbbp_profile_merge(_, _, _, _, _)
        hbbp_merger_create(_, _, _)
        hbbp_merger_add(_, _, _, _)
        hbbp_merger_finish(_, _, _, _)
        hbbp_merger_destroy(_)
        hbbp_profile_select(_, _, _, _, _)
        hbbp_profile_get_info(_, _, _)
        hbbp_profile_source_count(_)
        hbbp_profile_copy_sources(_, _, _, _, _, _, _)
        hbbp_profile_thread_count(_)
        hbbp_profile_copy_threads(_, _, _, _, _, _, _)
        hbbp_profile_module_count(_)
        hbbp_profile_copy_modules(_, _, _, _, _, _, _)
        hbbp_profile_counter_count(_, _)
        hbbp_profile_copy_counters(_, _, _, _, _, _, _, _)
        hbbp_analysis_create(_, _, _, _, _)
        hbbp_analysis_destroy(_)
        hbbp_analysis_profile(_)
        hbbp_analysis_get_info(_, _, _)
        hbbp_analysis_block_count(_)
        hbbp_analysis_copy_blocks(_, _, _, _, _, _, _)
        hbbp_analysis_function_count(_)
        hbbp_analysis_copy_functions(_, _, _, _, _, _, _)
        hbbp_analysis_copy_hottest_blocks(_, _, _, _, _, _, _, _)
        hbbp_analysis_copy_hottest_functions(_, _, _, _, _, _, _, _)
        hbbp_analysis_branch_count(_)
        hbbp_analysis_copy_branches(_, _, _, _, _, _, _)
        hbbp_analysis_ip_sum_count(_)
        hbbp_analysis_copy_ip_sums(_, _, _, _, _, _, _)
        hbbp_analysis_module_count(_)
        hbbp_analysis_copy_modules(_, _, _, _, _, _, _)
        hbbp_analysis_source_count(_)
        hbbp_analysis_copy_sources(_, _, _, _, _, _, _)
        hbbp_analysis_unexplained_reason_count(_, _)
        hbbp_analysis_copy_unexplained_reasons(_, _, _, _, _, _, _, _)
        hbbp_analysis_find_block(_, _, _, _, _)
        hbbp_count_interval(_, _, _, _)
        hbbp_block_feature_count()
        hbbp_block_feature_name(_)
        hbbp_analysis_copy_block_features(_, _, _, _, _, _)
        hbbp_capabilities_probe(_, _)
        hbbp_capabilities_destroy(_)
        hbbp_capabilities_count(_)
        hbbp_capabilities_copy(_, _, _, _, _, _, _)
        hbbp_event_find(_, _, _)
        hbbp_analysis_decode(_, _, _, _, _)
        hbbp_analysis_disassemble(_, _, _, _, _)
        hbbp_demangle(_, _, _)
        hbbp_session_add_data(_, _, _)
        hbbp_feed_create(_, _, _)
        hbbp_feed_destroy(_)
        hbbp_feed_add_source(_, _, _, _)
        hbbp_feed_add_perf_ids(_, _, _, _, _)
        hbbp_feed_add_perf_records(_, _, _, _, _)
        hbbp_feed_add_samples(_, _, _, _, _, _)
        hbbp_feed_add_events(_, _, _, _, _)
        hbbp_feed_process(_, _, _)
        hbbp_feed_end_round(_, _)
        hbbp_feed_flush(_, _, _)
        hbbp_feed_snapshot(_, _, _, _)
        hbbp_feed_get_info(_, _, _)
        hbbp_export_format_count()
        hbbp_export_copy_formats(_, _, _, _, _, _)
        hbbp_export(_, _, _, _, _, _, _)
        hbbp_cancel_create(_, _)
        hbbp_cancel_destroy(_)
        hbbp_cancel_set(_, _)
        hbbp_cancel_is_set(_)
        hbbp_analysis_ibs_sum_count(_)
        hbbp_analysis_copy_ibs_sums(_, _, _, _, _, _, _)
        hbbp_analysis_ibs_latency_count(_)
        hbbp_analysis_copy_ibs_latencies(_, _, _, _, _, _, _)
        hbbp_analysis_ibs_object_count(_)
        hbbp_analysis_copy_ibs_objects(_, _, _, _, _, _, _)
        hbbp_profile_ibs_bucket_count(_)
        hbbp_profile_copy_ibs_buckets(_, _, _, _, _, _, _)
        hbbp_profile_ibs_line_count(_)
        hbbp_profile_copy_ibs_lines(_, _, _, _, _, _, _)
        hbbp_profile_import(_, _, _, _, _)
        hbbp_session_add_code(_, _, _)
        hbbp_analysis_find_lines(_, _, _, _, _, _, _, _)
        hbbp_analysis_debug_problem(_, _, _, _, _)
        hbbp_loops_create(_, _, _, _)
        hbbp_loops_destroy(_)
        hbbp_loops_count(_)
        hbbp_loops_copy(_, _, _, _, _, _, _)
        hbbp_loops_copy_of_blocks(_, _, _, _, _, _)
        hbbp_mix_create(_, _, _, _, _)
        hbbp_mix_destroy(_)
        hbbp_mix_total(_)
        hbbp_mix_row_count(_)
        hbbp_mix_copy_rows(_, _, _, _, _, _, _)
        hbbp_taxonomy_create(_, _, _)
        hbbp_taxonomy_load(_, _, _)
        hbbp_taxonomy_destroy(_)
        hbbp_taxonomy_count(_)
        hbbp_taxonomy_name(_, _)
        hbbp_taxonomy_group_count(_, _)
        hbbp_taxonomy_group_name(_, _, _)
        hbbp_pivot_key_name_count()
        hbbp_pivot_key_name(_)
        hbbp_pivot_value_name_count()
        hbbp_pivot_value_name(_)
        hbbp_pivot_create(_, _, _, _, _)
        hbbp_pivot_destroy(_)
        hbbp_pivot_line_count(_, _)
        hbbp_pivot_line_count_in_all(_, _)
        hbbp_pivot_key_count(_, _)
        hbbp_pivot_value_count(_)
        hbbp_pivot_get_label(_, _, _, _, _, _)
        hbbp_pivot_get_cell(_, _, _, _, _, _)
        hbbp_ratios_create(_, _, _, _, _, _)
        hbbp_ratios_destroy(_)
        hbbp_ratios_count(_)
        hbbp_ratios_copy(_, _, _, _, _, _, _)
        hbbp_probe_builtin_count()
        hbbp_probe_builtin_name(_)
        hbbp_probe_create(_, _, _)
        hbbp_probe_destroy(_)
        hbbp_probe_run(_, _, _, _, _, _)
        hbbp_probe_start(_, _, _, _)
        hbbp_probe_stop(_, _)
        hbbp_probe_get_info(_, _, _)
        hbbp_probe_production_count(_)
        hbbp_probe_copy_productions(_, _, _, _, _, _, _)
        hbbp_probe_table_count(_)
        hbbp_probe_copy_tables(_, _, _, _, _, _, _)
        hbbp_probe_field_count(_, _)
        hbbp_probe_copy_fields(_, _, _, _, _, _, _, _)
        hbbp_probe_row_count(_, _)
        hbbp_probe_copy_rows(_, _, _, _, _, _, _, _)
        hbbp_probe_stream_count(_, _)
        hbbp_probe_copy_streams(_, _, _, _, _, _, _, _)
        hbbp_probe_locate(_, _, _, _)
        hbbp_session_create(_, _, _)
        hbbp_session_destroy(_)
        hbbp_session_start(_, _)
        hbbp_session_drain(_, _, _)
        hbbp_session_stop(_, _)
        hbbp_session_snapshot(_, _, _, _)
        hbbp_session_get_info(_, _, _)
        hbbp_profile_call(_, _, _, _, _)
        hbbp_profile_slice_count(_)
        hbbp_profile_copy_slices(_, _, _, _, _, _, _)
        hbbp_session_add_source(_, _, _, _)
    ]
}
