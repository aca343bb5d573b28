import type { ComponentType } from 'preact';
import type { WordKey } from '../words/words.js';
import { ActsPage } from './acts-page.js';
import { ClusterPage } from './cluster-page.js';
import { DeadPage } from './dead-page.js';
import { HistoryPage } from './history-page.js';
import { JobPage } from './job-page.js';
import { KafkaPage } from './kafka-page.js';
import { RunningPage } from './running-page.js';
import { SearchPage } from './search-page.js';
import { TimelinePage } from './timeline-page.js';
import { TubesPage } from './tubes-page.js';
import { WaitingPage } from './waiting-page.js';

/** A page, its first part of the address behind `#`, and its name. */
export interface PageEntry {
  readonly path: string;
  readonly title: WordKey;
  readonly Page: ComponentType;
  /** It is not in the navigation: links lead to it. */
  readonly hidden?: true;
  /** It is there only with nest-kq. */
  readonly kafka?: true;
}

/** In the order of the navigation; the first one is the start. */
export const PAGES: readonly PageEntry[] = [
  { path: 'timeline', title: 'nav.timeline', Page: TimelinePage },
  { path: 'tubes', title: 'nav.tubes', Page: TubesPage },
  { path: 'waiting', title: 'nav.waiting', Page: WaitingPage },
  { path: 'running', title: 'nav.running', Page: RunningPage },
  { path: 'dead', title: 'nav.dead', Page: DeadPage },
  { path: 'kafka', title: 'nav.kafka', Page: KafkaPage, kafka: true },
  { path: 'history', title: 'nav.history', Page: HistoryPage },
  { path: 'cluster', title: 'nav.cluster', Page: ClusterPage },
  { path: 'acts', title: 'nav.acts', Page: ActsPage },
  { path: 'job', title: 'nav.job', Page: JobPage, hidden: true },
  { path: 'search', title: 'app.searchGo', Page: SearchPage, hidden: true },
];
