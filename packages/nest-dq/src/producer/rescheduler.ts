import type { JobRef, RescheduleResult } from '../api/job.js';
import { schemaOf, tubeName } from '../api/tube.js';
import { namesOf } from '../copies/encoded.js';
import { foreignFormatOf } from '../copies/formats/unwrap.js';
import { codecsOfRef, type JobTarget } from '../copies/job-ref.js';
import { encodePayload, type Content } from '../copies/payload.js';
import type { Duration, When } from 'nest-handlers/time';
import { dueAgain, dueAt, type Due } from './due.js';
import { reschedule, type Change } from './job-mover.js';
import { refuseInvalid } from './payload-check.js';
import type { ProducerContext } from './producer-context.js';
import type { PatientCall } from './retries.js';

/** Options of a reschedule, besides the time. */
export interface RescheduleCall extends PatientCall {
  /** Undefined if unchanged. */
  readonly payload: unknown;
  readonly allowPast: boolean;
}

/** Validates changes to jobs, and moves the jobs. */
export class Rescheduler {
  constructor(private readonly context: ProducerContext) {}

  async reschedule(
    ref: JobRef,
    when: When | { readonly delay: Duration },
    { patience, payload, allowPast }: RescheduleCall,
  ): Promise<RescheduleResult> {
    const calledAt = this.context.parts.clock.now();
    const target = this.context.parse(ref);
    const foreign = foreignFormatOf(target.id);
    if (foreign) throw foreign.cannotMove(target.id);
    const due = dueAgain(when, allowPast);
    if (payload === undefined) return this.move(target, due, calledAt, {}, { patience });
    const codecs = codecsOfRef(ref);
    const content = encodePayload(payload, codecs?.codec);
    await checkFor(ref, content);
    const change = { content, readable: namesOf(codecs) };
    return this.move(target, due, calledAt, change, { patience, bytes: content.bytes.length });
  }

  /** Overwrites what is given. `when` is in epoch ms and may be in the past. */
  async replan(
    ref: JobRef,
    when: number,
    change: Pick<Change, 'content' | 'headers' | 'readable'>,
    call: PatientCall,
  ): Promise<RescheduleResult> {
    const calledAt = this.context.parts.clock.now();
    return this.move(this.context.parse(ref), dueAt(when, true), calledAt, change, call);
  }

  /** The first call of a tube waits briefly for ledger time. */
  private async move(
    target: JobTarget,
    dueGiven: Due,
    calledAt: number,
    change: Pick<Change, 'content' | 'headers' | 'readable'>,
    call: PatientCall,
  ): Promise<RescheduleResult> {
    const { context } = this;
    await context.dueTimes.ready(target.tube);
    context.refuseIfClosed();
    const due = context.dueTimes.of(target.tube, dueGiven, calledAt);
    const until = context.parts.clock.now() + call.patience;
    return context.retries.run(call, () => reschedule(context, target, { ...change, due, until }));
  }
}

/** Validates the payload if the reference has a tube, and so a schema. Any other payload is validated when the job runs. */
export async function checkFor(ref: JobRef, content: Content): Promise<void> {
  if (typeof ref !== 'object' || !('tube' in ref)) return;
  const schema = schemaOf(ref.tube);
  if (schema) await refuseInvalid(schema, content, tubeName(ref.tube, ''), codecsOfRef(ref));
}
