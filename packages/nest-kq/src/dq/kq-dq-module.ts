/**
 * The joint of nest-kq and nest-dq.
 * @module nest-kq/dq
 */
import { Module, type DynamicModule } from '@nestjs/common';
import { DqConsumer, getDqToken, type DqProducer } from 'nest-dq';
import { checkOptions } from '../api/checks.js';
import { wrongValue } from '../errors.js';
import { kqTokens } from '../nest/tokens.js';
import type { KqRuntime } from '../nest/runtime.js';
import { DqDelays } from './dq-delays.js';

/** What `KqDqModule.forRoot` takes. */
export interface KqDqOptions {
  /** The name of the cluster of Kafka, as in `KqModule.forRoot({ name })`. @default the one without a name */
  kq?: string;
  /** The name of the cluster of nest-dq, as in `DqModule.forRoot({ name })`. @default the one without a name */
  dq?: string;
  /** False: this process puts messages into nest-dq, and others push and run them. @default true */
  consume?: boolean;
}

const NAMES: readonly string[] = ['kq', 'dq', 'consume'] satisfies readonly (keyof KqDqOptions)[];

/**
 * Gives a cluster of Kafka the delays of nest-dq: `delay` and `at` of a push, `retry: { through: 'dq' }` and `deadLetter:
 * 'dq'` of a handler. Import it once for each cluster, beside `KqModule.forRoot` and `DqModule.forRoot`.
 */
@Module({})
export class KqDqModule {
  /** `KQ_CONFIG`: an option is wrong. Nest says if one of the two clusters is not there. */
  static forRoot(options: KqDqOptions = {}): DynamicModule {
    checkOptions('KQ_CONFIG', 'KqDqModule.forRoot', options, NAMES);
    const { kq, dq, consume = true } = options;
    if (typeof consume !== 'boolean')
      throw wrongValue('KQ_CONFIG', '`consume` of KqDqModule.forRoot', consume, 'true or false');
    return {
      module: KqDqModule,
      providers: [
        {
          provide: `nest-kq:dq:${kq ?? ''}`,
          inject: [kqTokens.of('runtime', kq), getDqToken(dq), getDqToken(dq, DqConsumer)],
          useFactory: (runtime: KqRuntime, producer: DqProducer, consumer: DqConsumer) => {
            const { admin, name } = runtime;
            runtime.delays.open(new DqDelays({ producer, consumer, admin, cluster: name }), consume);
            return true;
          },
        },
      ],
    };
  }
}
