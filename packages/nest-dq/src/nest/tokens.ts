import { Inject, type InjectionToken } from '@nestjs/common';
import { ClusterTokens } from 'nest-handlers';
import { DqConsumer } from '../consumer/consumer.js';
import { DqEvents } from '../events/events.js';
import { DqHealth } from '../health/health.js';
import { DqControl } from '../operate/control.js';
import { DqSeries } from '../operate/dq-series.js';
import { DqInspector } from '../operate/inspector.js';
import { DqDeadLetters } from '../producer/dead-letters.js';
import { DqProducer } from '../producer/producer.js';
import { JOB_HANDLERS } from './job-handlers.js';

/** Injectable parts of each cluster, by their names in the runtime. */
const INJECTABLES = {
  producer: DqProducer,
  consumer: DqConsumer,
  deadLetters: DqDeadLetters,
  inspector: DqInspector,
  control: DqControl,
  series: DqSeries,
  events: DqEvents,
  health: DqHealth,
} as const;

/** An injectable class. For the unnamed cluster, the class itself is the token. */
export type DqInjectable = (typeof INJECTABLES)[keyof typeof INJECTABLES];

/** Tokens of each part of each cluster. */
export const dqTokens = new ClusterTokens(JOB_HANDLERS, INJECTABLES);

/**
 * Returns the injection token of a part of a cluster, for `app.get` and factory providers. Without a name it is the class itself.
 * `DQ_CONFIG` if the name isn't a non-empty string, or `type` can't be injected.
 * @param type The class. Default: `DqProducer`.
 */
export function getDqToken(cluster?: string, type: DqInjectable = DqProducer): InjectionToken {
  return dqTokens.checked(type, cluster);
}

/**
 * Injects a part of the named cluster: `@InjectDq('mails') mails: DqProducer`,
 * `@InjectDq('mails', DqConsumer) consumer: DqConsumer`. The unnamed cluster needs no decorator.
 * @param type The class. Default: `DqProducer`.
 */
export function InjectDq(cluster: string, type?: DqInjectable): ParameterDecorator & PropertyDecorator {
  return Inject(getDqToken(cluster, type));
}
