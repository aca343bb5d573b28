import { describe } from '@jest/globals';
import { JOBS } from '../suites.js';
import { eachPasses } from './command.js';

/** Every third experiment with jobs, in a spec file of its own, as Jest runs several files at a time. */
export function eachThirdPasses(first: 1 | 2 | 3): void {
  describe('the experiment with some hundred jobs passes:', () =>
    eachPasses(JOBS.all.filter((_, index) => index % 3 === first - 1)));
}
