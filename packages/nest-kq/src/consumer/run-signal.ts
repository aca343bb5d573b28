import { RunSignal as Signal } from 'nest-handlers/context';

/** Signal of one run. Its messages reference it, so it lives as long as they do. */
export class RunSignal extends Signal {
  /** Whether nobody waits for the run any more, so that its result isn't reported as a failure. */
  isCut = false;

  /** Aborts, and stops waiting for the run. */
  cut(): void {
    this.isCut = true;
    this.abort();
  }
}
