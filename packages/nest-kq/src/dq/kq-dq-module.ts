/**
 * Connects nest-kq to nest-dq.
 * @module nest-kq/dq
 */
import { Module, type DynamicModule } from '@nestjs/common';
import { DqConsumer, getDqToken, type DqProducer } from 'nest-dq';
import { checkOptions } from '../api/checks.js';
import { wrongValue } from '../errors.js';
import { kqTokens } from '../nest/tokens.js';
import type { KqRuntime } from '../nest/runtime.js';
import { DqDelays } from './dq-delays.js';

/** Options of `KqDqModule.forRoot`. */
export interface KqDqOptions {
  /** Name of the Kafka cluster, as in `KqModule.forRoot({ name })`. @default the cluster without a name */
  kq?: string;
  /** Name of the nest-dq cluster, as in `DqModule.forRoot({ name })`. @default the cluster without a name */
  dq?: string;
  /** False: this process only adds messages to nest-dq; others push and run them. @default true */
  consume?: boolean;
}

const NAMES: readonly string[] = ['kq', 'dq', 'consume'] satisfies readonly (keyof KqDqOptions)[];

/**
 * Adds the delays of nest-dq to a Kafka cluster: `delay` and `at` of a push, `retry: { through: 'dq' }` and `deadLetter: 'dq'`
 * of a handler. Import it once per cluster, in addition to `KqModule.forRoot` and `DqModule.forRoot`.
 */
@Module({})
export class KqDqModule {
  /** Connects two clusters. `KQ_CONFIG`: an option is wrong. Nest reports a missing cluster. */
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
