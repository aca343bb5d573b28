// The jobs that a killed node must still have: every acknowledged change, and of each unacknowledged one nothing or all.
import { expect } from '@jest/globals';

interface Found {
  readonly id: number;
  /** Its hash. */
  readonly body: string;
  readonly state: string;
  readonly pri: number;
}

type Line =
  | { readonly kind: 'found'; readonly jobs: readonly Found[] }
  | { readonly kind: 'put'; readonly body: string; readonly pri: number; readonly state: string }
  | { readonly kind: 'inserted'; readonly body: string; readonly id: number }
  | { readonly kind: 'change'; readonly id: number; readonly becomes: string; readonly pri?: number }
  | { readonly kind: 'changed'; readonly id: number };

/** `state priority`, or `gone`. */
type Shape = string;

interface Expected {
  readonly body: string;
  /** The first is the acknowledged one. */
  shapes: Shape[];
}

const GONE = 'gone';

/** Follows the lines of one process after the other. */
export class ExpectedJobs {
  readonly acknowledged = { puts: 0, changes: 0 };
  lastId = 0;
  private jobs = new Map<number, Expected>();
  /** Shapes of the puts that were not acknowledged, by body. */
  private puts = new Map<string, Shape>();

  take(line: Line): void {
    switch (line.kind) {
      case 'found':
        return this.compare(line.jobs);
      case 'put':
        this.puts.set(line.body, `${line.state} ${line.pri}`);
        return;
      case 'inserted':
        expect(this.jobs.has(line.id)).toBe(false);
        this.jobs.set(line.id, { body: line.body, shapes: [this.puts.get(line.body)!] });
        this.puts.delete(line.body);
        this.acknowledged.puts++;
        this.lastId = Math.max(this.lastId, line.id);
        return;
      case 'change': {
        const job = this.jobs.get(line.id)!;
        const pri = job.shapes[0]!.split(' ')[1];
        // A job was reserved before it is buried or released, and so is ready after a restart.
        const shape = line.becomes === GONE ? GONE : `${line.becomes} ${line.pri ?? pri}`;
        job.shapes = [job.shapes[0]!, shape, `ready ${pri}`];
        return;
      }
      case 'changed': {
        const job = this.jobs.get(line.id)!;
        job.shapes = [job.shapes[1]!];
        this.acknowledged.changes++;
      }
    }
  }

  private compare(found: readonly Found[]): void {
    const byId = new Map(found.map((job) => [job.id, job]));
    const wrong: string[] = [];
    for (const [id, { body, shapes }] of this.jobs) {
      const job = byId.get(id);
      const shape = job ? `${job.state} ${job.pri}` : GONE;
      if (!shapes.includes(shape)) wrong.push(`job ${id} is ${shape}, expected ${shapes.join(' or ')}`);
      if (job && job.body !== body) wrong.push(`job ${id} has another body`);
    }
    for (const { id, body, state, pri } of found) {
      if (this.jobs.has(id)) continue;
      const shape = this.puts.get(body);
      if (shape === undefined) wrong.push(`job ${id} came from nowhere`);
      else if (shape !== `${state} ${pri}`) wrong.push(`job ${id} is ${state} ${pri}, expected ${shape}`);
      this.lastId = Math.max(this.lastId, id);
    }
    expect(wrong).toEqual([]);
    // From here on, this is what there is. Jobs that are gone stay, so that none of them comes back.
    const gone = [...this.jobs].filter(([id]) => !byId.has(id));
    this.jobs = new Map(gone.map(([id, { body }]) => [id, { body, shapes: [GONE] }]));
    for (const { id, body, state, pri } of found) this.jobs.set(id, { body, shapes: [`${state} ${pri}`] });
    this.puts.clear();
  }
}
