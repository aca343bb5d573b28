import { RunSignal as Signal } from 'nest-handlers/context';

/** The signal of one run. Its messages have it, so it goes with them. */
export class RunSignal extends Signal {
  /** Nobody waits for the run any more: what it comes to is no failure. */
  isCut = false;

  /** Aborts, and nobody waits any more. */
  cut(): void {
    this.isCut = true;
    this.abort();
  }
}
