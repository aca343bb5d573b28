import { Injectable } from '@nestjs/common';
import type { RevokeResult } from 'nest-dq';
import { tally, type Entry, type Tally } from './tally.js';

/** Log of what this demo did and saw. It takes nothing from the library, so that it can show a broken promise. */
@Injectable()
export class RunLog {
  private readonly entries: Entry[] = [];
  private readonly runs = new Map<number, number>();

  asked(job: number, due: number): void {
    this.entries.push({ what: 'asked', job, due });
  }

  /** Notes a start. Returns how many runs this job has had, with this one. */
  started(job: number): number {
    this.entries.push({ what: 'started', job, at: Date.now() });
    const runs = (this.runs.get(job) ?? 0) + 1;
    this.runs.set(job, runs);
    return runs;
  }

  failed(job: number, retryDelay: number): void {
    this.entries.push({ what: 'failed', job, retryAt: Date.now() + retryDelay });
  }

  succeeded(job: number): void {
    this.entries.push({ what: 'succeeded', job });
  }

  answered(job: number, answer: RevokeResult): void {
    this.entries.push({ what: 'answered', job, answer });
  }

  tally(): Tally {
    return tally(this.entries);
  }
}
