import { RunSignal as Signal } from 'nest-handlers/context';

/** The signal of one run. Its messages reference it, so it lives as long as they do. */
export class RunSignal extends Signal {
  /** Nobody waits for the run any more; its result is no failure. */
  isCut = false;

  /** Aborts, and stops waiting for the run. */
  cut(): void {
    this.isCut = true;
    this.abort();
  }
}
