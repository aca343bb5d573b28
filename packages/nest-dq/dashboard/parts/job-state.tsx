import type { JobView } from '../../src/api/job.js';
import { t } from '../words/language.js';
import { Badge } from './badge.js';

const TONES = {
  waiting: 'calm',
  due: 'warn',
  retrying: 'warn',
  running: 'accent',
  done: 'good',
  revoked: 'calm',
  dead: 'bad',
  expired: 'warn',
} as const;

/** The state of a job. */
export function JobState({ state }: { readonly state: JobView['state'] | 'due' }) {
  return <Badge tone={TONES[state]}>{t(`state.${state}`)}</Badge>;
}
