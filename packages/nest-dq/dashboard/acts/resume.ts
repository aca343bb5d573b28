import { may } from '../state/session.js';
import { askOnDemand } from '../pages/load-on-demand.js';
import { doAct } from './one.js';

/** Fewer overdue jobs are no burst. */
const MANY_OVERDUE = 100;

/**
 * Resumes a tube; where many jobs are overdue, or it is unknown how many are, asks whether they are to run gradually. Never rejects.
 */
export function resume(tube: string, overdue: number | undefined, after: () => void): Promise<unknown> {
  if ((overdue !== undefined && overdue < MANY_OVERDUE) || !may('resumeGradually'))
    return doAct('resume', { tube }, after);
  return askOnDemand(({ askResume }) => askResume(tube, overdue, after));
}
