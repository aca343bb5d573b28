import type { ComponentType } from 'preact';
import type { WordKey } from '../words/words.js';
import { TimelinePage } from './timeline-page.js';

/** A page, its first part of the address behind `#`, and its name. */
export interface PageEntry {
  readonly path: string;
  readonly title: WordKey;
  readonly Page: ComponentType;
  /** It is not in the navigation: links lead to it. */
  readonly hidden?: true;
}

/** In the order of the navigation; the first one is the start. */
export const PAGES: readonly PageEntry[] = [{ path: 'timeline', title: 'nav.timeline', Page: TimelinePage }];
