#!/bin/sh
# Environments of the programs that the benchmarks compare with, one each, in .peers/
#   sh benchmarks/make_peers.sh [momentum placo opensim mink pink mujoco biobuddy bvhio]
# Momentum is built for Python 3.12 only; PYTHON312 may name an interpreter that uv does not find.
set -eu
cd "$(dirname "$0")/.."
UV=$(command -v uv || echo .uv/bin/uv)

make_peer() { # name, python, packages …
    home=.peers/$1 python=$2
    shift 2
    [ -x "$home/bin/python" ] || "$UV" venv --quiet --python "$python" "$home"
    "$UV" pip install --quiet --python "$home/bin/python" "$@"
}

for peer in ${*:-momentum placo opensim mink pink mujoco biobuddy bvhio}; do
    case $peer in
        momentum) make_peer momentum "${PYTHON312:-3.12}" pymomentum-cpu ;;
        placo) make_peer placo 3.11 placo ;;
        opensim) make_peer opensim 3.11 opensim ;;
        mink) make_peer mink 3.11 mink daqp ;;
        pink) make_peer pink 3.11 pin-pink daqp ;;
        mujoco) make_peer mujoco 3.11 mujoco-core numpy ;;
        biobuddy) make_peer biobuddy 3.11 biobuddy matplotlib ;;
        bvhio) make_peer bvhio 3.11 bvhio ;;
        *) echo "unknown peer: $peer" >&2 && exit 2 ;;
    esac
    echo "$peer is ready"
done
