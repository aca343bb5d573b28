import { Injectable } from '@nestjs/common';
import { ApplicationConfig, DiscoveryService } from '@nestjs/core';

/** The parts of Nest needed to find and call handlers. Inject it and pass it on. */
@Injectable()
export class NestParts {
  constructor(
    /** All providers and controllers. */
    readonly discovery: DiscoveryService,
    /** The global guards, pipes, interceptors and filters. */
    readonly config: ApplicationConfig,
  ) {}
}
