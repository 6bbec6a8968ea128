-- Single titles to POST /predict, from the file that TITLES names. PAUSE, in milliseconds, is how long a connection rests between an
-- answer and its next request.

local titles = {}
for line in io.lines(os.getenv("TITLES")) do
  titles[#titles + 1] = '{"text":"' .. line:gsub('[%c"\\]', " ") .. '"}'
end

local pause = tonumber(os.getenv("PAUSE") or "0")
local headers = { ["content-type"] = "application/json" }

function init()
  math.randomseed(os.time())
end

function request()
  return wrk.format("POST", "/predict", headers, titles[math.random(#titles)])
end

if pause > 0 then
  function delay()
    return math.floor(pause * (0.5 + math.random()))
  end
end

function done(summary, latency)
  local seconds = summary.duration / 1e6
  local errors = summary.errors
  local failed = errors.connect + errors.read + errors.write + errors.timeout + errors.status
  print(string.format("%.0f requests a second, p50 %.1f ms, p99 %.1f ms, longest %.1f ms, %d failed",
    summary.requests / seconds, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3, latency.max / 1e3, failed))
end
