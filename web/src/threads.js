// Threads by process, with what each of them executed.
import { count, grouped, short } from './format.js';
import { h, name, shareBar } from './dom.js';
import { errorOfThreads, threadName } from './model.js';
import { makeTable } from './table.js';

function processOf(pid, threads) {
  const sum = (of) => threads.reduce((total, thread) => total + of(thread), 0);
  return {
    id: `process ${pid}`, order: pid, label: threadName({ tid: pid, name: threads.find(({ tid }) => tid === pid)?.name ?? '' }),
    samples: sum((thread) => thread.samples), instructions: sum((thread) => thread.instructions ?? 0),
    error: errorOfThreads(threads),
    threads: threads.length > 1 ? threads : undefined,
  };
}

function whatIsMissing(model) {
  const told = model.tasks.filter(({ thread }) => thread >= 0).length;
  const parts = [`${count(model.process_count)} ${model.process_count === 1 ? 'process' : 'processes'}, ${count(model.thread_count)} ${model.thread_count === 1 ? 'thread' : 'threads'}.`];
  if (model.threads.length < model.thread_count) parts.push(`The busiest ${count(model.threads.length)} threads are listed; processes have the sums of these.`);
  if (told < model.threads.length) {
    parts.push(told ? `The pivot tells the busiest ${count(told)} threads apart and has the others in sums, so that this page stays small.`
      : 'The pivot does not tell threads apart, so that this page stays small; hbbp mix --by thread does.');
  }
  return h('p', {}, parts.join(' '));
}

export function threadsTable(model) {
  const threads = model.threads.map((thread, index) => ({ ...thread, id: `thread ${index}`, order: thread.tid, label: threadName(thread) }));
  const byProcess = grouped(threads, (thread) => thread.pid);
  const isTree = byProcess.size > 1;
  const rows = isTree ? [...byProcess].map(([pid, ofProcess]) => processOf(pid, ofProcess)) : threads;
  return [whatIsMissing(model), makeTable({
    label: isTree ? 'Processes and threads' : 'Threads', rows, idOf: (row) => row.id, sortBy: 'instructions', pageSize: 15,
    children: isTree && rows.some((row) => row.threads) ? (row) => row.threads : undefined,
    columns: [
      { id: 'label', title: isTree ? 'Process › Thread' : 'Thread', value: (row) => row.label, order: (row) => row.order, show: (row) => name(row.label) },
      { id: 'samples', title: 'Samples', isNumber: true, value: (row) => row.samples, show: (row) => count(row.samples) },
      { id: 'instructions', title: 'Instructions', isNumber: true, value: (row) => row.instructions, show: (row) => short(row.instructions) },
      { id: 'error', title: '± Error', isNumber: true, value: (row) => row.error, show: (row) => short(row.error) },
      { id: 'share', title: 'Share', isNumber: true, value: (row) => row.instructions, csv: (row) => row.instructions / model.instructions, show: (row) => shareBar(row.instructions, row.error, model.instructions) },
    ],
  }).element];
}
