/** The key of shortcuts on this machine. */
export const modifier: '⌘' | 'Ctrl' = /Mac|iP(hone|ad|od)/.test(navigator.userAgent) ? '⌘' : 'Ctrl';
