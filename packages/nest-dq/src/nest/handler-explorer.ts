import {
  HandlerInvoker,
  MarkedMethods,
  type ClusterNames,
  type FoundMethod,
  type NestModule,
  type NestParts,
} from 'nest-handlers';
import { resolveKeepDone } from '../consumer/keep-done.js';
import { resolveRetention } from '../consumer/retention.js';
import { resolveHandlerOptions } from '../consumer/run/handler-settings.js';
import { DqError, show, wrongValue } from '../errors.js';
import type { BatchHandlerOptions, HandlerMethod, HandlerOptions } from '../api/job.js';
import { tubeName, type Tube } from '../api/tube.js';
import { handlerMarks, type HandlerMark } from './delayed-handler.js';
import { JOB_HANDLERS, type JobItem } from './job-handlers.js';
import { asConfigError } from './option-checks.js';
import type { ResolvedOptions } from './options.js';

export interface FoundHandler {
  /** Class, method and module, for messages. */
  readonly name: string;
  readonly tube: string;
  /** The tube as given to the decorator, with its schema if any. */
  readonly token: string | Tube;
  readonly handler: HandlerMethod;
  readonly options?: Omit<HandlerOptions, 'cluster'>;
  readonly recurrence?: HandlerMark['recurrence'];
}

/** Finds and validates the `@DelayedHandler` and `@Recurring` methods of a cluster. */
export class HandlerExplorer {
  private readonly methods: MarkedMethods<HandlerMark>;
  private readonly invoker: HandlerInvoker<JobItem>;
  /** By tube. */
  private readonly found = new Map<string, FoundHandler>();

  constructor(
    nest: NestParts,
    private readonly options: ResolvedOptions,
    cluster?: string,
  ) {
    this.methods = new MarkedMethods(nest, handlerMarks, cluster);
    this.invoker = new HandlerInvoker(nest, JOB_HANDLERS, options.logger);
  }

  /**
   * Returns handlers not found before, in all modules or in the given ones. `DQ_CONFIG`: invalid options, two handlers of one
   * tube, a cluster that no module registers, a transient class, or decorators that wouldn't work.
   */
  explore(clusters: ClusterNames, modules?: ReadonlySet<NestModule>): FoundHandler[] {
    const handlers: FoundHandler[] = [];
    for (const [method, mark] of this.methods.find(clusters, modules)) {
      for (const tube of tubesOf(mark, method)) {
        const handler = this.check(tube, mark, method);
        const other = this.found.get(handler.tube);
        if (other) throw twoHandlers(handler, other);
        this.found.set(handler.tube, handler);
        handlers.push(handler);
      }
    }
    this.invoker.advise();
    return handlers;
  }

  private check(tube: string | Tube, { options, recurrence }: HandlerMark, found: FoundMethod): FoundHandler {
    const { name } = found;
    const { cluster: _, ...own }: Partial<BatchHandlerOptions> = options ?? {};
    const checked = asConfigError(`${name}: `, () => {
      if (recurrence && own.batch !== undefined)
        throw wrongValue('DQ_BAD_OPTION', '`batch`', own.batch, 'none, because a series has one job');
      const others = recurrence ? ['cluster', 'deadLetters', 'tz'] : ['cluster', 'deadLetters', 'keepDone'];
      resolveHandlerOptions(options && own, this.options.handlers, others);
      resolveRetention(own.deadLetters, this.options.deadLetters);
      resolveKeepDone(own.keepDone, this.options.keepDone);
      return tubeName(tube, this.options.prefix);
    });
    const handler = this.invoker.bind(found);
    return { name, tube: checked, token: tube, handler, options: options && own, recurrence };
  }
}

/** `DQ_CONFIG` if there are none. */
function tubesOf({ tubes }: HandlerMark, { name, instance }: FoundMethod): readonly (string | Tube)[] {
  const given: unknown = typeof tubes === 'function' ? tubes(instance) : tubes;
  const all = Array.isArray(given) ? (given as (string | Tube)[]) : [given as string | Tube];
  if (all.length > 0) return all;
  throw wrongValue('DQ_CONFIG', `${name}: the list of tubes`, given, 'at least one tube');
}

function twoHandlers(handler: FoundHandler, other: FoundHandler): DqError {
  return new DqError(
    'DQ_CONFIG',
    `tube ${show(handler.tube)} has two handlers, ${other.name} and ${handler.name}: expected one; ` +
      'is a class provided twice, or a decorated method inherited twice?',
  );
}
