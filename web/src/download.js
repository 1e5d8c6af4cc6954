// Tables as CSV and all of the data as JSON, which the browser saves: both are in the page already.
import { h } from './dom.js';

// A spreadsheet would run text that begins like a formula.
const FORMULA = /^[=+\-@\t\r]/;

const cellOf = (value) => {
  if (value == null) return '';
  if (typeof value === 'number') return String(value);
  const text = FORMULA.test(value) ? `'${value}` : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

// rows: lists of text, numbers, and null for what is not known
export const csvOf = (titles, rows) => [titles, ...rows].map((row) => `${row.map(cellOf).join(',')}\r\n`).join('');

function save(name, type, text) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  h('a', { href: address, download: name }).click();
  // The browser has to read it before it is gone.
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

export const saveCsv = (name, titles, rows) => save(name, 'text/csv', csvOf(titles, rows));
export const saveJson = (name, text) => save(name, 'application/json', text);
