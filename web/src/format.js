// Numbers for people, and the lists that they are of.
const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const units = [[1e15, 'P'], [1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k']];

export const count = (number) => (number == null ? '–' : whole.format(number));

// "12.3 M": three digits. Below 0.01, which errors of exact counts are, digits say nothing.
export function short(number) {
  if (number == null) return '–';
  const size = Math.abs(number);
  if (size > 0 && size < 0.01) return number > 0 ? '<\u00a00.01' : number.toPrecision(3);
  for (const [factor, unit] of units) {
    if (size >= factor) return `${(number / factor).toPrecision(3)}\u00a0${unit}`;
  }
  return size >= 100 || Number.isInteger(number) ? whole.format(number) : number.toPrecision(3);
}

export function share(fraction) {
  if (fraction == null || !Number.isFinite(fraction)) return '–';
  return `${(100 * fraction).toFixed(2)}\u00a0%`;
}

export function duration(nanoseconds) {
  for (const [factor, unit] of [[1e9, 's'], [1e6, 'ms'], [1e3, 'µs']]) {
    if (nanoseconds >= factor) return `${(nanoseconds / factor).toPrecision(4)}\u00a0${unit}`;
  }
  return `${nanoseconds}\u00a0ns`;
}

export const address = (place) => `0x${place.toString(16)}`;

export const baseName = (path) => path.replace(/ \(deleted\)$/, '').replace(/^.*\/(?=.)/, '');

// Lists may be longer than functions may have arguments.
export const largest = (items, of) => items.reduce((most, item) => Math.max(most, of(item)), 0);

// {key: [items that have it]}, in the order in which they come.
export function grouped(items, keyOf) {
  const groups = new Map();
  for (const item of items) {
    const key = keyOf(item);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(item);
  }
  return groups;
}
