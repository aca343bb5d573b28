import type { ComponentType } from 'preact';
import type { WordKey } from '../words/words.js';
import { onDemand } from '../parts/on-demand.js';
import { onDemandPages } from './load-on-demand.js';
import { TimelinePage } from './timeline-page.js';
import { TubesPage } from './tubes-page.js';

/** A page, its first part of the address behind `#`, and its name. */
export interface PageEntry {
  readonly path: string;
  readonly title: WordKey;
  readonly Page: ComponentType;
  /** It is not in the navigation: links lead to it. */
  readonly hidden?: true;
  /** It is there only with nest-kq. */
  readonly kafka?: true;
  /** The key that leads to it after `g`. */
  readonly key?: string;
}

/** In the order of the navigation; the first one is the start. */
export const PAGES: readonly PageEntry[] = [
  { path: 'timeline', key: 't', title: 'nav.timeline', Page: TimelinePage },
  { path: 'tubes', key: 'u', title: 'nav.tubes', Page: TubesPage },
  {
    path: 'waiting',
    key: 'w',
    title: 'nav.waiting',
    Page: onDemand(async () => (await onDemandPages()).WaitingPage),
  },
  {
    path: 'running',
    key: 'r',
    title: 'nav.running',
    Page: onDemand(async () => (await onDemandPages()).RunningPage),
  },
  {
    path: 'finished',
    key: 'f',
    title: 'nav.finished',
    Page: onDemand(async () => (await onDemandPages()).FinishedPage),
  },
  { path: 'dead', key: 'd', title: 'nav.dead', Page: onDemand(async () => (await onDemandPages()).DeadPage) },
  {
    path: 'kafka',
    key: 'k',
    title: 'nav.kafka',
    Page: onDemand(async () => (await onDemandPages()).KafkaPage),
    kafka: true,
  },
  {
    path: 'history',
    key: 'h',
    title: 'nav.history',
    Page: onDemand(async () => (await onDemandPages()).HistoryPage),
  },
  {
    path: 'series',
    key: 's',
    title: 'series',
    Page: onDemand(async () => (await onDemandPages()).SeriesPage),
  },
  {
    path: 'cluster',
    key: 'c',
    title: 'nav.cluster',
    Page: onDemand(async () => (await onDemandPages()).ClusterPage),
  },
  { path: 'acts', key: 'a', title: 'nav.acts', Page: onDemand(async () => (await onDemandPages()).ActsPage) },
  {
    path: 'job',
    title: 'nav.job',
    Page: onDemand(async () => (await onDemandPages()).JobPage),
    hidden: true,
  },
  {
    path: 'search',
    title: 'app.searchGo',
    Page: onDemand(async () => (await onDemandPages()).SearchPage),
    hidden: true,
  },
];

/** Loads the code of all pages, so that they open in an outage, too. A page that is opened without it tries again. */
export function preloadPages(): void {
  onDemandPages().catch(() => undefined);
}
