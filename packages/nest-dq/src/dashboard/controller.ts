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
import { READS, type Read } from './reads.js';

/**
 * The routes of one dashboard. Each answers by itself, so that an interceptor of the application cannot wrap what the page reads.
 * Each dashboard has a class of its own, because path, guards and decorators belong to the class.
 */
export function makeController({ path, guards, decorators }: ResolvedExtras): Type<unknown> {
  @Controller({ path, version: VERSION_NEUTRAL })
  class DqDashboardController {
    constructor(@Inject(Dashboard) readonly dashboard: Dashboard) {}

    // Nest takes one / from the end of a route, and Fastify needs it.
    @Get(['', '//'])
    page(@Req() request: any, @Res() response: any): Promise<void> {
      return this.dashboard.page(request, response);
    }

    @Get('api/session')
    session(@Req() request: any, @Res() response: any): Promise<void> {
      return this.dashboard.session(request, response);
    }

    @Get('api/job/payload')
    payload(@Req() request: any, @Res() response: any): Promise<void> {
      return this.dashboard.payload(request, response);
    }

    @Get('api/tubes/:tube/dead/:id/payload')
    letterPayload(@Req() request: any, @Res() response: any): Promise<void> {
      return this.dashboard.letterPayload(request, response);
    }

    @Get('api/kafka/letter/payload')
    kafkaPayload(@Req() request: any, @Res() response: any): Promise<void> {
      return this.dashboard.kafkaPayload(request, response);
    }

    @Get('api/live')
    live(@Req() request: any, @Res() response: any): Promise<void> {
      return this.dashboard.live(request, response);
    }

    @Post('api/acts/:act')
    act(@Req() request: any, @Res() response: any): Promise<void> {
      return this.dashboard.act(request, response);
    }
  }
  for (const [route, read] of Object.entries(READS)) addRead(DqDashboardController, route, read);
  for (const name of CLIENT_FILES) {
    addRoute(DqDashboardController, name, (dashboard, request, response) =>
      dashboard.file(request, response, name),
    );
  }
  UseGuards(...guards)(DqDashboardController);
  for (const decorate of decorators) decorate(DqDashboardController);
  return DqDashboardController;
}

type Route = (dashboard: Dashboard, request: HttpRequest, response: HttpResponse) => Promise<void>;
interface Routes {
  readonly dashboard: Dashboard;
}

function addRead(controller: Type<Routes>, route: string, read: Read): void {
  addRoute(controller, `api/${route}`, (dashboard, request, response) =>
    dashboard.read(request, response, read),
  );
}

/** What the decorators of a written method do. */
function addRoute(controller: Type<Routes>, route: string, answer: Route): void {
  const prototype = controller.prototype as object;
  function method(this: Routes, request: HttpRequest, response: HttpResponse): Promise<void> {
    return answer(this.dashboard, request, response);
  }
  Object.defineProperty(prototype, route, { value: method, configurable: true });
  Req()(prototype, route, 0);
  Res()(prototype, route, 1);
  Get(route)(prototype, route, Object.getOwnPropertyDescriptor(prototype, route)!);
}
