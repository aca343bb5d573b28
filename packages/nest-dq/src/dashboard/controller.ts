import {
  Controller,
  Get,
  Inject,
  Post,
  Req,
  Res,
  UseGuards,
  VERSION_NEUTRAL,
  type Type,
} from '@nestjs/common';
import { CLIENT_FILES } from './client-files.js';
import { Dashboard } from './dashboard.js';
import type { HttpRequest, HttpResponse } from './http.js';
import type { ResolvedExtras } from './options.js';
import { READS } from './reads.js';

/**
 * Creates the routes of one dashboard. Each sends its own answer, so that an interceptor of the application can't wrap what the
 * page reads. Each dashboard has its own class, because path, guards and decorators belong to the class.
 */
export function makeController({ path, guards, decorators }: ResolvedExtras): Type<unknown> {
  @Controller({ path, version: VERSION_NEUTRAL })
  class DqDashboardController {
    constructor(@Inject(Dashboard) readonly dashboard: Dashboard) {}
  }
  for (const [name, [decorate, answer]] of Object.entries(ROUTES))
    addRoute(DqDashboardController, name, decorate, answer);
  for (const [route, read] of Object.entries(READS))
    addRoute(DqDashboardController, route, Get(`api/${route}`), (dashboard, ...http) =>
      dashboard.read(...http, read),
    );
  for (const name of CLIENT_FILES)
    addRoute(DqDashboardController, name, Get(name), (dashboard, ...http) => dashboard.file(...http, name));
  UseGuards(...guards)(DqDashboardController);
  for (const decorate of decorators) decorate(DqDashboardController);
  return DqDashboardController;
}

type Route = (dashboard: Dashboard, request: HttpRequest, response: HttpResponse) => Promise<void>;

/** Routes by method name of the controller. */
const ROUTES: Readonly<Record<string, readonly [MethodDecorator, Route]>> = {
  // Nest removes one / from the end of a route, and Fastify needs it.
  page: [Get(['', '//']), (dashboard, ...http) => dashboard.page(...http)],
  session: [Get('api/session'), (dashboard, ...http) => dashboard.session(...http)],
  payload: [Get('api/job/payload'), (dashboard, ...http) => dashboard.payload(...http)],
  letterPayload: [
    Get('api/tubes/:tube/dead/:id/payload'),
    (dashboard, ...http) => dashboard.letterPayload(...http),
  ],
  kafkaPayload: [Get('api/kafka/letter/payload'), (dashboard, ...http) => dashboard.kafkaPayload(...http)],
  live: [Get('api/live'), (dashboard, ...http) => dashboard.live(...http)],
  act: [Post('api/acts/:act'), (dashboard, ...http) => dashboard.act(...http)],
};

interface Routes {
  readonly dashboard: Dashboard;
}

/** Does what the decorators of a written method do. */
function addRoute(controller: Type<Routes>, name: string, decorate: MethodDecorator, answer: Route): void {
  const prototype = controller.prototype as object;
  function method(this: Routes, request: HttpRequest, response: HttpResponse): Promise<void> {
    return answer(this.dashboard, request, response);
  }
  Object.defineProperty(prototype, name, { value: method, configurable: true });
  Req()(prototype, name, 0);
  Res()(prototype, name, 1);
  decorate(prototype, name, Object.getOwnPropertyDescriptor(prototype, name)!);
}
