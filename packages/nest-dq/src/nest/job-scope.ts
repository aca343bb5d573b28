import { ContextIdFactory, ModuleRef, type ContextId } from '@nestjs/core';
import { DqError } from '../errors.js';
import type { DelayedJob } from '../api/job.js';
import type { Wrapper } from './enhancers.js';

/**
 * Makes an instance of a handler's class for each job, with its request-scoped dependencies. The job is the request.
 * Nest holds the instance weakly, by the context's id, so it goes when the run is over.
 */
export class JobScope {
  private readonly moduleRef: ModuleRef;

  constructor(
    private readonly wrapper: Wrapper,
    name: string,
  ) {
    // That of its own module, as another module may have a provider of the same token.
    const moduleRef: unknown = wrapper.host?.getProviderByKey(ModuleRef)?.instance;
    if (!(moduleRef instanceof ModuleRef)) {
      throw new DqError(
        'DQ_CONFIG',
        `${name} is request-scoped, but belongs to no module that could make it`,
      );
    }
    this.moduleRef = moduleRef;
  }

  async open(job: DelayedJob): Promise<{ instance: object; contextId: ContextId }> {
    const contextId = ContextIdFactory.getByRequest(job);
    // As Nest does for requests. A durable tree outlives the job, so it gets the strategy's payload instead.
    const isShared = contextId.getParent !== undefined && this.wrapper.isDependencyTreeDurable();
    this.moduleRef.registerRequestByContextId(isShared ? contextId.payload : job, contextId);
    const instance: object = await this.moduleRef.resolve(this.wrapper.token, contextId, { strict: true });
    return { instance, contextId };
  }
}
