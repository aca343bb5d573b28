import { Injectable } from '@nestjs/common';
import { ApplicationConfig, DiscoveryService } from '@nestjs/core';

/** What the discovery and the calls of handlers need of Nest. Inject it and pass it on. */
@Injectable()
export class NestParts {
  constructor(
    /** All providers and controllers. */
    readonly discovery: DiscoveryService,
    /** The global guards, pipes, interceptors and filters. */
    readonly config: ApplicationConfig,
  ) {}
}
