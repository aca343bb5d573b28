/** Where a relay kills itself: once it has claimed, noted what is under the keys, added, or deleted; or in the middle of its adds. */
export const STEPS = ['claimed', 'noted', 'adding', 'added', 'deleted'] as const;
