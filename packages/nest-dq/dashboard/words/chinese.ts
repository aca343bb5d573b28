import type { WordKey } from './words.js';
import { zhActs } from './zh-acts.js';
import { zhStatus } from './zh-status.js';
import { zhPages } from './zh.js';

/** Texts of the dashboard, in Chinese. A file of its own, which only pages in Chinese load. */
export const zh: Readonly<Record<WordKey, string>> = { ...zhPages, ...zhActs, ...zhStatus };
