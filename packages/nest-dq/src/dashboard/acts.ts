import { DqError } from '../errors.js';
import type { DqRuntime } from '../nest/runtime.js';
import { Input, JOB_FIELDS, jobRef, span, text, time } from './input.js';
import type { KafkaClusters } from './kafka.js';
import { actOnLetter } from './kafka-acts.js';
import type { SingleActs } from './wire.js';

/** Who does an act, for `DqControl`. */
export interface Doer {
  readonly by?: string;
}

type DoAct = (runtime: DqRuntime, body: unknown, doer: Doer, kafka: KafkaClusters) => Promise<unknown>;

/** The acts on one thing. Each returns its result: a shape of wire.ts. */
export const DO_SINGLE: Readonly<Record<keyof SingleActs, DoAct>> = {
  pause({ control }, body, doer) {
    const input = new Input('the body', body, ['tube', 'until']);
    return control.pause(input.must('tube', text), { ...doer, ...input.part('until', time) });
  },
  async resume({ control }, body, doer) {
    return control.resume(new Input('the body', body, ['tube']).must('tube', text), doer);
  },
  async runNow({ control, options }, body, doer) {
    return control.runNow(jobRef(new Input('the body', body, JOB_FIELDS), options.prefix), doer);
  },
  async reschedule(runtime, body, { by }) {
    const input = new Input('the body', body, [...JOB_FIELDS, 'at', 'delay']);
    if (input.has('at') === input.has('delay'))
      throw new DqError('DQ_BAD_OPTION', 'a reschedule has to say when: expected either `at` or `delay`');
    const when = input.has('at') ? input.must('at', time) : { delay: input.must('delay', span) };
    const ref = jobRef(input, runtime.options.prefix);
    return runtime.actOnJob('reschedule', ref, by, 'rescheduled', () =>
      runtime.producer.reschedule(ref, when),
    );
  },
  async revoke(runtime, body, { by }) {
    const ref = jobRef(new Input('the body', body, JOB_FIELDS), runtime.options.prefix);
    return runtime.actOnJob('revoke', ref, by, 'revoked', () =>
      runtime.producer.revoke(ref, { confirmed: true }),
    );
  },
  async revive(runtime, body, { by }) {
    const ref = jobRef(new Input('the body', body, JOB_FIELDS), runtime.options.prefix);
    return runtime.actOnJob('revive', ref, by, 'revived', () => runtime.deadLetters.revive(ref));
  },
  async discard(runtime, body, { by }) {
    const ref = jobRef(new Input('the body', body, JOB_FIELDS), runtime.options.prefix);
    return runtime.actOnJob('discard', ref, by, 'discarded', () => runtime.deadLetters.discard(ref));
  },
  async drainNode({ control }, body, doer) {
    return control.drainNode(new Input('the body', body, ['node']).must('node', text), doer);
  },
  async undrainNode({ control }, body, doer) {
    return control.undrainNode(new Input('the body', body, ['node']).must('node', text), doer);
  },
  kafkaReplay: actOnLetter('kafkaReplay'),
  kafkaDiscard: actOnLetter('kafkaDiscard'),
};
