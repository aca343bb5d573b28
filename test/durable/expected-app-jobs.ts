// The jobs that a killed application must still know.
import { expect } from '@jest/globals';

type Line =
  | { readonly kind: 'found'; readonly jobs: readonly { readonly id: string; readonly state: string }[] }
  | { readonly kind: 'added'; readonly id: string; readonly ref: string; readonly waits: boolean }
  | { readonly kind: 'revoke' | 'revoked' | 'started'; readonly id: string }
  | { readonly kind: 'ended'; readonly id: string; readonly state: 'done' | 'dead' };

interface Expected {
  readonly ref: string;
  states: readonly string[];
}

const OF_WORK = ['waiting', 'running', 'retrying', 'done', 'dead'];
const ENDS = ['revoked', 'done', 'dead'];

/** Follows the lines of one process after the other. */
export class ExpectedAppJobs {
  readonly acknowledged = { adds: 0, revokes: 0, ends: 0 };
  private readonly jobs = new Map<string, Expected>();
  /** Jobs that ran before their add was answered. */
  private readonly early = new Map<string, string>();

  get receipts(): { id: string; ref: string }[] {
    return [...this.jobs].map(([id, { ref }]) => ({ id, ref }));
  }

  take(line: Line): void {
    const job = 'id' in line ? this.jobs.get(line.id) : undefined;
    switch (line.kind) {
      case 'found': {
        const wrong = line.jobs.filter(({ id, state }) => !this.jobs.get(id)!.states.includes(state));
        expect(wrong.map((each) => ({ ...each, expected: this.jobs.get(each.id)!.states }))).toEqual([]);
        for (const { id, state } of line.jobs) if (ENDS.includes(state)) this.jobs.get(id)!.states = [state];
        return;
      }
      case 'added': {
        const ended = this.early.get(line.id);
        const states = ended !== undefined ? [ended] : line.waits ? ['waiting'] : OF_WORK;
        this.jobs.set(line.id, { ref: line.ref, states });
        this.acknowledged.adds++;
        return;
      }
      case 'revoke':
        job!.states = ['waiting', 'revoked'];
        return;
      case 'revoked':
        job!.states = ['revoked'];
        this.acknowledged.revokes++;
        return;
      case 'started':
        // Nothing that has ended runs again.
        expect(job?.states ?? OF_WORK).toEqual(OF_WORK);
        expect(this.early.has(line.id)).toBe(false);
        return;
      case 'ended':
        if (job) job.states = [line.state];
        else this.early.set(line.id, line.state);
        this.acknowledged.ends++;
    }
  }
}
