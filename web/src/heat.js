// How warm a block is drawn: 1 to 5, by its count as a share of the busiest block's.
const HEATS = [0.01, 0.05, 0.2, 0.5];

export const heatOf = (count, busiest) => 1 + HEATS.filter((from) => count > from * busiest).length;
