import type { DqError } from 'nest-dq/src/errors.js';
import type { JobRef } from 'nest-dq/src/api/job.js';
import { parseRef } from 'nest-dq/src/copies/job-ref.js';
import type { Call, History } from './history.js';
import { TUBE, type Operation, type PlannedDue, type Target } from './plan.js';
import type { SimulatedLedger } from './simulated-ledger.js';
import type { SimulatedProcess } from './simulated-process.js';

type OperationOf<Kind extends Operation['kind']> = Extract<Operation, { readonly kind: Kind }>;

interface BegunCall {
  readonly call: Call;
  readonly answer: Promise<unknown>;
}

/** Calls producers and dead letters as the plan says, and notes the answers. */
export class PlannedCalls {
  /** The adds, by the number of their operation. */
  private readonly adds = new Map<number, Call>();

  constructor(
    private readonly history: History,
    private readonly ledger: SimulatedLedger,
  ) {}

  /** Resolves when the call is answered; at once, if the operation has no job. */
  async make(process: SimulatedProcess, operation: Operation): Promise<void> {
    const begun = await this.begin(process, operation);
    if (!begun) return;
    const { call, answer } = begun;
    this.history.calls.push(call);
    this.history.log(`${process.name} calls #${call.number} ${describe(operation)}`);
    try {
      const result = await answer;
      if (process.clock.dead) return;
      call.answer = result;
    } catch (error) {
      if (process.clock.dead) return;
      call.error = error as Error;
    }
    call.ended = this.history.now;
    if (operation.kind === 'add' && call.answer) {
      call.receipt = call.answer as Call['receipt'];
      const { id, born } = parseRef(call.receipt!.ref, '');
      call.id = id;
      call.born = born!;
    }
    this.history.log(`${process.name} #${call.number} ${operation.kind}: ${this.said(call)}`);
  }

  private begin(
    process: SimulatedProcess,
    operation: Operation,
  ): BegunCall | undefined | Promise<BegunCall | undefined> {
    switch (operation.kind) {
      case 'add':
        return this.beginAdd(process, operation);
      case 'revoke':
      case 'reschedule':
      case 'find':
        return this.beginByReference(process, operation);
      case 'revive':
      case 'discard':
        return this.beginWithLetter(process, operation);
    }
  }

  private beginAdd(process: SimulatedProcess, operation: OperationOf<'add'>): BegunCall {
    const { producer } = process;
    const { due, attempts, key, onDuplicate, group, expireAfter } = operation;
    const payload = { number: operation.number };
    const named = key === undefined ? {} : { key, onDuplicate };
    const options = { attempts, ...named, ...(group === undefined ? {} : { group }), expireAfter };
    const call = this.newCall(process, operation, { due: this.dueOf(due) });
    this.adds.set(operation.number, call);
    if (key !== undefined) call.id = parseRef({ tube: TUBE, key }, '').id;
    const answer =
      due.kind === 'now'
        ? producer.now(TUBE, payload, options)
        : due.kind === 'delay'
          ? producer.delay(TUBE, payload, due.ms, options)
          : producer.at(TUBE, payload, call.began + due.ms, options);
    return { call, answer };
  }

  private beginByReference(
    process: SimulatedProcess,
    operation: OperationOf<'revoke' | 'reschedule' | 'find'>,
  ): BegunCall | undefined {
    const { producer } = process;
    const ref = this.reference(operation.target);
    if (!ref) return undefined;
    const { id, born } = parseRef(ref, '');
    if (operation.kind === 'find') {
      return { call: this.newCall(process, operation, { id, born }), answer: producer.find(ref) };
    }
    if (operation.kind === 'revoke') {
      const call = this.newCall(process, operation, { id, born });
      return { call, answer: producer.revoke(ref, { abort: operation.abort }) };
    }
    const { due, payload } = operation;
    const call = this.newCall(process, operation, { id, born, due: this.dueOf(due) });
    const ms = due.kind === 'now' ? 0 : due.ms;
    const when = due.kind === 'at' ? call.began + ms : { delay: ms };
    const options = payload ? { payload: { number: payload.number } } : {};
    return { call, answer: producer.reschedule(ref, when, options) };
  }

  private async beginWithLetter(
    process: SimulatedProcess,
    operation: OperationOf<'revive' | 'discard'>,
  ): Promise<BegunCall | undefined> {
    const { deadLetters } = process;
    const number = this.history.calls.length;
    const letters = [...this.ledger.letters.values()];
    const letter = letters[operation.letter % Math.max(1, letters.length)];
    if (!letter) return undefined;
    const { letters: listed } = await deadLetters.list(TUBE).catch(() => ({ letters: [] }));
    const found = listed.find(({ id }) => id === letter.id);
    if (!found) return undefined;
    const { id, born } = parseRef(found.ref, '');
    const { kind, delay } = operation;
    const call = this.newCall(process, operation, {
      number,
      id,
      born,
      due: this.dueOf({ kind: 'delay', ms: delay }),
    });
    const answer =
      kind === 'revive' ? deadLetters.revive(found.ref, { delay }) : deadLetters.discard(found.ref);
    return { call, answer };
  }

  private newCall({ name }: SimulatedProcess, operation: Operation, more: Partial<Call>): Call {
    const { calls, now } = this.history;
    return { number: calls.length, operation, process: name, began: now, ...more };
  }

  private reference({ add, by }: Target): JobRef | undefined {
    const call = this.adds.get(add);
    if (!call || call.operation.kind !== 'add') return undefined;
    const { key } = call.operation;
    if (by === 'key' && key !== undefined) return { tube: TUBE, key };
    return call.receipt?.ref;
  }

  private dueOf(due: PlannedDue): { from: number; exact: boolean } {
    return { from: this.history.now + (due.kind === 'now' ? 0 : due.ms), exact: due.kind === 'at' };
  }

  private said({ operation, answer, error, receipt, id, born }: Call): string {
    const { history } = this;
    if (error) {
      const { name, code, indeterminate, message } = error as DqError;
      return `${code ?? name} ${indeterminate ?? ''} ${history.named(message.slice(0, 90))}`;
    }
    if (operation.kind === 'add') {
      const { status, copies } = receipt!;
      return `${status} ${history.name(id!)} ${history.generation(born!)} on ${copies}`;
    }
    if (operation.kind === 'find') return (answer as { state: string } | undefined)?.state ?? 'nothing';
    return String(answer);
  }
}

function describe(operation: Operation): string {
  const { kind, ...rest } = operation;
  return `${kind} ${JSON.stringify(rest)}`;
}
